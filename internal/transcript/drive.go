package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Drive says how a client's half is played.
type Drive struct {
	Names *Names
	// Replay is what the agent works with, if it is one of this build: it says when a line may go in. May be nil.
	Replay *Replay
	// Foreign says that the agent is somebody else's: ids of its own and the borders of chunks do not count.
	Foreign bool
	// On says that a difference does not end it: all lines go in, each when its time has come.
	On bool
	// Patience is how long nothing at all may come back while something is expected.
	Patience time.Duration
}

// DefaultPatience holds where Drive.Patience is not set.
const DefaultPatience = 10 * time.Second

// Play plays the client's half of a scenario against an agent, and returns the differences of what comes back, the first
// one first. What is ordered is compared in order: updates, questions and answers. What is not is compared as it comes:
// notifications of the protocol level, news of commands and servers, and what is asked of the client's files and
// terminals, which calls that run side by side ask at the same time. The ids of the agent's requests are its own.
// When all has been said hangUp ends what the agent reads; then it is given time to end what it writes.
func (d Drive) Play(s *Scenario, agent io.ReadWriter, hangUp func()) []string {
	if d.Patience <= 0 {
		d.Patience = DefaultPatience
	}
	p := &drive{
		Drive: d, wire: s.Wire, agent: agent, lines: make(chan json.RawMessage, 16), over: make(chan struct{}), idle: time.NewTimer(d.Patience),
		ids: map[string]json.RawMessage{}, loose: map[int]bool{}, recorded: newAliases(), now: newAliases(),
	}
	defer p.idle.Stop()
	defer close(p.over)
	if d.Foreign {
		p.wire, p.numbers = joined(s.Wire)
	}
	go p.read()
	if d.On {
		p.playOn()
	} else {
		p.play()
	}
	hangUp()
	for !p.ended {
		if line, ok := p.last(); ok && !p.On {
			p.sort(line)
		}
	}
	if !p.On && !p.stopped() {
		for _, line := range slices.Concat(p.early, p.asked, p.queue) {
			p.differ("wire: nothing more is recorded, now there is %s", show(line))
		}
	}
	return p.found
}

type drive struct {
	Drive
	wire []Message
	// numbers are those of the lines in the file, where some were joined.
	numbers []int
	agent   io.ReadWriter
	lines   chan json.RawMessage
	over    chan struct{} // closed when nobody takes lines any more
	idle    *time.Timer
	ended   bool

	ids          map[string]json.RawMessage // of the agent's requests, by the recorded id
	loose        map[int]bool               // the places of unordered lines that are still expected
	early        []json.RawMessage          // unordered lines that are not expected yet
	queue        []json.RawMessage          // ordered lines that came while others were looked for
	asked        []json.RawMessage          // questions to the person that came while others were looked for
	wantCommands json.RawMessage            // the last news of commands, as recorded
	commandsAt   int
	gotCommands  json.RawMessage // and as it came

	found    []string
	recorded *aliases
	now      *aliases
}

// read takes lines off the connection until it ends.
func (p *drive) read() {
	defer close(p.lines)
	in := bufio.NewReaderSize(p.agent, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case p.lines <- line:
			case <-p.over:
				_, _ = io.Copy(io.Discard, in) // the agent is not held up by it
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *drive) differ(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// number is the number of a line in the file.
func (p *drive) number(i int) int {
	if i < len(p.numbers) {
		return p.numbers[i]
	}
	return i + 1
}

// stopped says whether there is nothing more to be gained.
func (p *drive) stopped() bool {
	if p.On {
		return false
	}
	if p.Replay != nil && len(p.Replay.Differences()) > 0 {
		return true
	}
	return len(p.found) > 0
}

func (p *drive) play() {
	for i, m := range p.wire {
		switch {
		case p.stopped():
			return
		case m.In != nil:
			p.send(i, m)
		case updateOf(m.Out) == commandsUpdate:
			p.wantCommands, p.commandsAt = m.Out, i
		case unordered(m.Out):
			p.expect(i, m.Out)
		case p.asks(m.Out):
			p.question(i, m.Out)
		default:
			p.ordered(i, m.Out)
		}
	}
	p.settle()
	for len(p.loose) > 0 && !p.stopped() {
		line, ok := p.next()
		if !ok && !p.stopped() {
			for _, i := range sortedKeys(p.loose) {
				p.differ("wire line %d: recorded %s, now missing", p.number(i), show(p.wire[i].Out))
			}
			return
		}
		if ok {
			p.sort(line)
		}
	}
}

// settle waits for the last news of commands. How often they are told on the way there is a matter of who is faster:
// the servers, or the client's next request.
func (p *drive) settle() {
	if p.wantCommands == nil {
		return
	}
	for !p.stopped() {
		d := Difference(p.wantCommands, p.gotCommands)
		if p.gotCommands == nil {
			d = "recorded " + show(p.wantCommands) + ", now missing"
		}
		if d == "" {
			return
		}
		line, ok := p.nextWithin(min(p.Patience, settling))
		if !ok {
			p.differ("wire line %d %s", p.number(p.commandsAt), d)
			return
		}
		p.sort(line)
	}
}

// settling is how long the last news of commands may take that is not there at the end.
const settling = 2 * time.Second

func sortedKeys(m map[int]bool) []int {
	out := make([]int, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// next is the next line of the agent's, with its names counted. It is not there when the agent has ended, or has said
// nothing for too long, or a difference was found elsewhere.
func (p *drive) next() (json.RawMessage, bool) { return p.nextWithin(p.Patience) }

func (p *drive) nextWithin(patience time.Duration) (json.RawMessage, bool) {
	if p.ended {
		return nil, false
	}
	var differed <-chan struct{}
	if p.Replay != nil && !p.On {
		differed = p.Replay.Differed()
	}
	p.idle.Reset(patience)
	select {
	case line, ok := <-p.lines:
		p.ended = !ok
		return p.Names.Count(line), ok
	case <-differed:
		return nil, false
	case <-p.idle.C:
		if p.Replay != nil {
			p.Replay.spine.release()
		}
		return nil, false
	}
}

// last is next for what comes after the end, whatever was found.
func (p *drive) last() (json.RawMessage, bool) {
	p.idle.Reset(p.Patience)
	select {
	case line, ok := <-p.lines:
		p.ended = !ok
		return p.Names.Count(line), ok
	case <-p.idle.C:
		p.ended = true // it is left to who has started it
		return nil, false
	}
}

// sort puts a line where it belongs: among the unordered ones that are expected, or behind the ordered ones.
func (p *drive) sort(line json.RawMessage) {
	if updateOf(line) == commandsUpdate {
		p.gotCommands = line
		return
	}
	switch {
	case p.asks(line):
		p.asked = append(p.asked, line)
		return
	case !unordered(line):
		p.queue = append(p.queue, line)
		return
	}
	for _, i := range sortedKeys(p.loose) {
		if p.same(p.wire[i].Out, line) {
			delete(p.loose, i)
			p.keepID(p.wire[i].Out, line)
			return
		}
	}
	p.early = append(p.early, line)
}

// expect says that an unordered line is due by now.
func (p *drive) expect(i int, want json.RawMessage) {
	for k, line := range p.early {
		if p.same(want, line) {
			p.early = slices.Delete(p.early, k, k+1)
			p.keepID(want, line)
			return
		}
	}
	p.loose[i] = true
}

func (p *drive) same(want, line json.RawMessage) bool {
	return Difference(bare(want), bare(line)) == ""
}

// ordered holds the next ordered line against the recorded one.
func (p *drive) ordered(i int, want json.RawMessage) {
	if p.Foreign {
		want = p.recorded.count(want)
	}
	for len(p.queue) == 0 {
		line, ok := p.next()
		if !ok {
			if !p.stopped() {
				p.differ("wire line %d: recorded %s, now nothing comes", p.number(i), show(want))
			}
			return
		}
		p.sort(line)
	}
	line := p.queue[0]
	p.queue = p.queue[1:]
	if p.Foreign {
		line = p.now.count(p.named(want, line))
		line = p.gathered(want, line)
	}
	p.compare(i, want, line)
}

// send sends a line when its time has come.
func (p *drive) send(i int, m Message) {
	line := m.In
	if head := headOf(line); head.Method == "" && head.ID != nil {
		// An answer waits for its question.
		for p.ids[string(head.ID)] == nil {
			got, ok := p.next()
			if !ok {
				if !p.stopped() {
					p.differ("wire line %d answers a request of the agent's that now does not come", p.number(i))
				}
				return
			}
			p.sort(got)
		}
		line = withID(line, p.ids[string(head.ID)])
	}
	if p.Replay != nil && !p.Replay.due(m, p.wire[:i], p.Patience) {
		return
	}
	if _, err := p.agent.Write(append(slices.Clone(p.Names.Real(line)), '\n')); err != nil && !p.stopped() {
		p.differ("wire line %d cannot be sent: the agent has ended (%v)", p.number(i), err)
	}
}

// keepID notes under which id the agent has now asked what it asked then.
func (p *drive) keepID(want, line json.RawMessage) {
	if a, b := headOf(want), headOf(line); a.Method != "" && a.ID != nil && b.ID != nil {
		p.ids[string(a.ID)] = b.ID
	}
}

// due waits until a line of the client's may be sent: one that causes an input when all that came before it has come.
func (r *Replay) due(m Message, before []Message, patience time.Duration) bool {
	place := r.causes(m, before)
	if place < 0 {
		return true
	}
	idle := time.NewTimer(patience)
	defer idle.Stop()
	for {
		r.spine.mu.Lock()
		ready, moved := r.spine.free || r.spine.n >= place, r.spine.moved
		r.spine.mu.Unlock()
		if ready {
			return true
		}
		select {
		case <-moved:
		case <-r.differed:
			return true
		case <-idle.C:
			r.spine.release()
		}
	}
}

// causes is the place of the input that a line of the client's causes, as far as its place matters; -1 for none.
func (r *Replay) causes(m Message, before []Message) int {
	head := headOf(m.In)
	switch head.Method {
	case "session/cancel":
		return r.spine.place(m.At, "", []string{"Cancelled"}, "Prompted", "Compacting")
	case "session/set_mode", "session/set_config_option":
		return r.spine.place(m.At, "", []string{"Chosen"})
	case "":
	default:
		return -1
	}
	for _, b := range slices.Backward(before) {
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Call struct {
					ID string `json:"toolCallId"`
				} `json:"toolCall"`
			} `json:"params"`
		}
		if json.Unmarshal(b.Out, &asked) != nil || asked.Method == "" || !bytes.Equal(asked.ID, head.ID) {
			continue
		}
		switch asked.Method {
		case "session/request_permission":
			return r.spine.place(m.At, asked.Params.Call.ID, []string{"Decided", "Answered"}, "Prompted")
		case "elicitation/create":
			return r.spine.place(m.At, "", []string{"Answered"}, "Prompted")
		}
		return -1
	}
	return -1
}

// commandsUpdate is the kind of update that tells the commands.
const commandsUpdate = "available_commands_update"

// updateOf is the kind of a session's update; empty for other lines.
func updateOf(line json.RawMessage) string {
	var m struct {
		Params struct {
			Update struct {
				Kind string `json:"sessionUpdate"`
			} `json:"update"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return ""
	}
	return m.Params.Update.Kind
}

// unordered says whether a line has no place among the others.
func unordered(line json.RawMessage) bool {
	method := headOf(line).Method
	return strings.HasPrefix(method, "$/") || strings.HasPrefix(method, "fs/") || strings.HasPrefix(method, "terminal/") ||
		updateOf(line) == "notice"
}

// bare is a line without what is the agent's own: the id of its request.
func bare(line json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil || m["method"] == nil {
		return line
	}
	if m["id"] != nil {
		m["id"] = json.RawMessage(`"its own"`)
	}
	if string(m["method"]) == `"$/cancel_request"` {
		delete(m, "params")
	}
	out, err := encode(m)
	if err != nil {
		return line
	}
	return out
}

// withID is a message with another id.
func withID(line, id json.RawMessage) json.RawMessage {
	if bytes.Equal(headOf(line).ID, id) {
		return line
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil {
		return line
	}
	m["id"] = id
	out, err := encode(m)
	if err != nil {
		return line
	}
	return out
}
