package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// Replay answers from a record in place of everything that was outside: the model, the servers and their tools,
// commands, the clock. What it is asked it holds against what was asked then. Its methods may be called from any
// goroutine.
type Replay struct {
	s     *Scenario
	names *Names
	where Folders
	spine *spine

	changed  chan struct{}
	differed chan struct{} // closed by the first difference

	mu         sync.Mutex
	found      []string
	next       int // exchanges that were played
	played     map[string]*playedCall
	clock      int
	kit        int             // where the current one is in s.Kit
	polled     map[string]int  // the place of the state that was given last, by part
	fetched    map[int]bool    // by place in s.Kit
	unverified map[string]bool // what was found so while it played
}

// playedCall is a call, and how much of it was played.
type playedCall struct {
	call           *Call
	previews, runs int
}

// NewReplay plays a scenario whose files are in those folders. Names knows them, and no others.
func NewReplay(s *Scenario, names *Names, where Folders) (*Replay, error) {
	inputs, err := s.LoopInputs()
	if err != nil {
		return nil, err
	}
	r := &Replay{
		s: s, names: names, where: where, spine: newSpine(inputs),
		changed: make(chan struct{}, 1), differed: make(chan struct{}),
		played: map[string]*playedCall{}, polled: map[string]int{}, fetched: map[int]bool{}, kit: -1, unverified: map[string]bool{},
	}
	for i := range s.Calls {
		r.played[s.Calls[i].ID] = &playedCall{call: &s.Calls[i]}
	}
	return r, nil
}

// Input takes an input that is in the log now.
func (r *Replay) Input(in loop.Input) {
	r.spine.came(in)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signal()
}

// differ notes a difference.
func (r *Replay) differ(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Sprintf(format, args...))
	if len(r.found) == 1 {
		close(r.differed)
	}
}

// Differ notes a difference that was found elsewhere.
func (r *Replay) Differ(what string) { r.differ("%s", what) }

// Differences are what was found, the first one first.
func (r *Replay) Differences() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.found)
}

// Differed is closed when the first difference is found.
func (r *Replay) Differed() <-chan struct{} { return r.differed }

// Now is what the clock said then; after the last time it stands still.
func (r *Replay) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.s.Manifest.Clock) == 0 {
		return time.Unix(0, 0).UTC()
	}
	i := min(r.clock, len(r.s.Manifest.Clock)-1)
	r.clock++
	t, err := time.Parse(time.RFC3339Nano, r.s.Manifest.Clock[i])
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return t
}

// Unverified lists what could not be held against anything, because it was not recorded.
func (r *Replay) Unverified() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.s.Manifest.Missing)
	for _, c := range r.s.Calls {
		if c.Unverified != "" {
			out = append(out, fmt.Sprintf("tool call %s %s answered from the record: %s", c.ID, c.Tool, c.Unverified))
		}
	}
	return append(out, slices.Sorted(maps.Keys(r.unverified))...)
}

func (r *Replay) doubt(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unverified[fmt.Sprintf(format, args...)] = true
}

// Finish notes what was recorded and did not happen, and holds the workspace against how it was left.
func (r *Replay) Finish() error {
	r.mu.Lock()
	asked := r.next
	var left []string
	for _, c := range r.s.Calls {
		if p := r.played[c.ID]; p.runs < len(c.Runs) {
			left = append(left, fmt.Sprintf("tool call %s %s: recorded, but now it does not run", c.ID, c.Tool))
		}
	}
	r.mu.Unlock()
	if asked < len(r.s.Model) {
		r.differ("model request %d: recorded, but now it is not made", asked+1)
	}
	for _, l := range left {
		r.differ("%s", l)
	}
	files, err := r.where.Read()
	if err != nil {
		return fmt.Errorf("reading the workspace: %w", err)
	}
	for _, d := range fileDifferences(r.s.After, files, r.names) {
		r.differ("%s", d)
	}
	return nil
}

func fileDifferences(recorded, now map[string]string, names *Names) []string {
	all := maps.Clone(recorded)
	maps.Copy(all, now)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, recorded := recorded[name]
		is, there := now[name]
		is = names.CountText(is)
		switch {
		case !recorded:
			out = append(out, fmt.Sprintf("file %s: not recorded, now it is there", name))
		case !there:
			out = append(out, fmt.Sprintf("file %s: recorded, now missing", name))
		case was != is:
			line := 1 + strings.Count(was[:common(was, is)], "\n")
			a, b := around(was, is)
			out = append(out, fmt.Sprintf("file %s, line %d: recorded %s, now %s", name, line, show(a), show(b)))
		}
	}
	return out
}

func common(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// realOf is a recorded value with the folder's name of now.
func realOf[T any](r *Replay, v any) (T, error) {
	var out T
	data, err := encode(v)
	if err == nil {
		err = json.Unmarshal(r.names.Real(data), &out)
	}
	return out, err
}

// Open is the next opening. Its error is the recorded one, or says that none was recorded.
func (r *Replay) Open() (Opening, error) {
	r.mu.Lock()
	place := -1
	for i := r.kit + 1; i < len(r.s.Kit) && place < 0; i++ {
		if r.s.Kit[i].Open != nil {
			place = i
		}
	}
	if place >= 0 {
		r.kit = place
		clear(r.polled)
	}
	r.mu.Unlock()
	if place < 0 {
		r.differ("what the session works with: it is made once more than recorded")
		return Opening{}, errors.New("the recording has nothing more for the session to work with")
	}
	o, err := realOf[Opening](r, r.s.Kit[place].Open)
	if err != nil {
		return Opening{}, err
	}
	if o.Failure != nil {
		return o, o.Failure
	}
	return o, nil
}

// states are the places in s.Kit of a part's states since the current opening that hold by now. The caller holds mu.
func (r *Replay) states(has func(Snapshot) bool) []int {
	var out []int
	n := r.spine.count()
	for i := r.kit + 1; i < len(r.s.Kit) && i > 0 && r.s.Kit[i].Open == nil && r.s.Kit[i].At <= n; i++ {
		if has(r.s.Kit[i]) {
			out = append(out, i)
		}
	}
	return out
}

func hasServers(s Snapshot) bool  { return s.Servers != nil }
func hasTools(s Snapshot) bool    { return s.Tools != nil }
func hasCommands(s Snapshot) bool { return s.Commands != nil }

// Servers are the states of the servers. The first time they are those that the session began with.
func (r *Replay) Servers() []Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.states(hasServers)
	if len(all) == 0 {
		return nil
	}
	at := all[0]
	if _, again := r.polled["servers"]; again {
		at = all[len(all)-1]
	}
	r.polled["servers"] = at
	r.signal()
	out, _ := realOf[[]Server](r, r.s.Kit[at].Servers) // what was read once is read again
	return out
}

// Tools are the tools of the servers as they are now.
func (r *Replay) Tools() []loop.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.states(hasTools)
	if len(all) == 0 {
		return nil
	}
	out, _ := realOf[[]loop.Spec](r, r.s.Kit[all[len(all)-1]].Tools) // likewise
	return out
}

// Commands are the prompts of the servers, one state after the other: each is told to the client.
func (r *Replay) Commands() []Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.states(hasCommands)
	if len(all) == 0 {
		return nil
	}
	at := all[0]
	if last, again := r.polled["commands"]; again {
		at = last
		if i := slices.IndexFunc(all, func(p int) bool { return p > last }); i >= 0 {
			at = all[i]
		}
	}
	r.polled["commands"] = at
	r.signal()
	out, _ := realOf[[]Command](r, r.s.Kit[at].Commands) // what was read once is read again
	return out
}

// Changed has something to receive when there is a state that nobody has asked for yet.
func (r *Replay) Changed() <-chan struct{} { return r.changed }

// signal tells of such a state. The caller holds mu.
func (r *Replay) signal() {
	for part, has := range map[string]func(Snapshot) bool{"servers": hasServers, "commands": hasCommands} {
		last, polled := r.polled[part]
		if all := r.states(has); polled && len(all) > 0 && all[len(all)-1] > last {
			select {
			case r.changed <- struct{}{}:
			default:
			}
			return
		}
	}
}

// Prompt is what a server gave for a prompt, by its command and the text behind it; Resource for a resource. ask puts what
// the server wanted to know first to the person; the answer is in what it gave.
func (r *Replay) Prompt(command, text string, ask func(Aside)) (loop.Blocks, error) {
	return r.fetch("prompt /"+command, command, text, ask, func(s Snapshot) *Fetched { return s.Prompt })
}

// Resource is what a server gave for a URI. It is nil without an error where it has no such resource.
func (r *Replay) Resource(server, uri string, ask func(Aside)) (loop.Blocks, error) {
	return r.fetch("resource "+uri+" of "+server, server, uri, ask, func(s Snapshot) *Fetched { return s.Resource })
}

func (r *Replay) fetch(what, name, text string, ask func(Aside), of func(Snapshot) *Fetched) (loop.Blocks, error) {
	name, text = r.names.CountText(name), r.names.CountText(text)
	r.mu.Lock()
	var f *Fetched
	for i, s := range r.s.Kit {
		if got := of(s); got != nil && !r.fetched[i] && got.Name == name && got.Text == text {
			r.fetched[i], f = true, got
			break
		}
	}
	r.mu.Unlock()
	if f == nil {
		r.differ("%s: not recorded, now it is asked for with %s", what, show(text))
		return nil, errors.New("the recording does not have it")
	}
	if len(f.Asked) > 0 {
		asked, err := realOf[[]Aside](r, f.Asked)
		if err != nil {
			return nil, err
		}
		for _, a := range asked {
			ask(a)
		}
	}
	if f.Failure != "" {
		return nil, errors.New(r.names.RealText(f.Failure))
	}
	if f.Content == nil {
		return nil, nil
	}
	return realOf[loop.Blocks](r, f.Content)
}
