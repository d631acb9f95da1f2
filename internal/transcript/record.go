package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/cartagent/cartagent/loop"
)

// Recorder records one session. Everything that it is told gets its place in the order in which it is told. Its methods
// may be called from any goroutine.
type Recorder struct {
	names *Names
	files *files

	mu      sync.Mutex
	s       Scenario
	calls   map[string]int // the place of a call in s.Calls
	missing map[string]bool
	last    map[string]string // what the kit's parts were, as text
	writing map[string]bool   // the requests by which the client is to write a file, by their ids
	wrote   bool              // the client has written a file, which a replay's client does not
}

// NewRecorder records a session that works in a folder, its root on paper. Without a folder no files are recorded. The
// manifest says what is known from the beginning.
func NewRecorder(names *Names, folder string, m Manifest) *Recorder {
	m.Format = Format
	return &Recorder{
		names: names, files: newFiles(folder), calls: map[string]int{}, missing: map[string]bool{}, last: map[string]string{},
		writing: map[string]bool{},
		s:       Scenario{Manifest: m, Config: map[string]string{}, Before: map[string]string{}, After: map[string]string{}},
	}
}

// Lines are lines that crossed before there was a recorder.
func (r *Recorder) Lines(list ...Message) {
	for _, m := range list {
		r.line(m)
	}
}

// In is a line to the agent, Out one from it.
func (r *Recorder) In(line []byte) { r.line(Message{In: line}) }

// Out is a line from the agent.
func (r *Recorder) Out(line []byte) { r.line(Message{Out: line}) }

func (r *Recorder) line(m Message) {
	count := func(line json.RawMessage) json.RawMessage {
		var compact bytes.Buffer
		if line == nil || json.Compact(&compact, line) != nil {
			return nil
		}
		return r.names.Count(compact.Bytes())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m = Message{In: count(m.In), Out: count(m.Out)}
	if m.In != nil {
		m.At = len(r.s.Inputs)
	}
	if m.In != nil || m.Out != nil {
		r.s.Wire = append(r.s.Wire, m)
	}
	r.clientWrites(m)
}

// clientWrites notes that the client has written a file for us. The caller holds mu.
func (r *Recorder) clientWrites(m Message) {
	switch out, in := headOf(m.Out), headOf(m.In); {
	case out.Method == "fs/write_text_file":
		r.writing[string(out.ID)] = true
	case m.In != nil && in.Method == "" && r.writing[string(in.ID)]:
		delete(r.writing, string(in.ID))
		var answer struct {
			Error json.RawMessage `json:"error"`
		}
		r.wrote = r.wrote || json.Unmarshal(m.In, &answer) == nil && answer.Error == nil
	}
}

// Loaded is the log that the session had before.
func (r *Recorder) Loaded(inputs []loop.Input) error {
	records, err := Records(inputs, r.names)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Log = records
	return nil
}

// Input is an input that is in the session's log now.
func (r *Recorder) Input(in loop.Input) {
	kind, body, err := loop.EncodeInput(in)
	if err != nil {
		return // then it is not in the log either
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Inputs = append(r.s.Inputs, Record{Kind: kind, Body: r.names.Count(body)})
}

// Manifest changes what the manifest says.
func (r *Recorder) Manifest(change func(*Manifest)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.s.Manifest)
}

// Missing says that something is not recorded, once.
func (r *Recorder) Missing(what string) {
	what = r.names.CountText(what)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.missing[what] {
		r.missing[what] = true
		r.s.Manifest.Missing = append(r.s.Manifest.Missing, what)
	}
}

// ConfigFile is a file of the configuration folder that the session reads.
func (r *Recorder) ConfigFile(name string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Config[name] = r.names.CountText(string(data))
}

// Folder is one more folder that the session works in, with its name on paper.
func (r *Recorder) Folder(paper, folder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files.add(paper, folder)
}

// Reads says that files of the workspace are read when the session is opened.
func (r *Recorder) Reads(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files.see(names)
}

// ReadsAll says that all files of a folder are read, and recorded, whatever becomes of them.
func (r *Recorder) ReadsAll(folder string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, err := r.files.tree(nameIn(folder, ""))
	if err == nil {
		r.files.see(names)
	}
	return err
}

// Snap adds what came from outside of this build. Of the states that hold from here on only what is new is kept.
func (r *Recorder) Snap(s Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.At = len(r.s.Inputs)
	part, state := "", any(nil)
	switch {
	case s.Servers != nil:
		part, state = "servers", *s.Servers
	case s.Tools != nil:
		part, state = "tools", *s.Tools
	case s.Commands != nil:
		part, state = "commands", *s.Commands
	}
	text, err := encode(state)
	if err != nil || part != "" && r.last[part] == string(text) {
		return
	}
	if s.Open != nil {
		clear(r.last) // what is opened anew begins anew
	}
	if part != "" {
		r.last[part] = string(text)
	}
	r.s.Kit = append(r.s.Kit, counted(s, r.names))
}

// counted is a value with its names counted.
func counted[T any](v T, n *Names) T {
	data, err := encode(v)
	if err != nil {
		return v
	}
	var out T
	if json.Unmarshal(n.Count(data), &out) != nil {
		return v
	}
	return out
}

// NoModel records that a model could not be had.
func (r *Recorder) NoModel(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.Model = append(r.s.Model, Exchange{At: len(r.s.Inputs), Failure: failureOf(err, r.names)})
}

// failureOf is a model's error with its names counted.
func failureOf(err error, n *Names) *loop.Failure {
	out := loop.Failure{Kind: loop.FailInternal, Message: err.Error()}
	if f, ok := errors.AsType[*loop.Failure](err); ok {
		out = *f
	}
	out = counted(out, n)
	return &out
}

// Model records what a model is asked and what it says.
func (r *Recorder) Model(m loop.Model) loop.Model { return &recordedModel{m, r} }

type recordedModel struct {
	model    loop.Model
	recorder *Recorder
}

// Stream implements loop.Model.
func (m *recordedModel) Stream(ctx context.Context, req loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		add := m.recorder.exchange(req)
		for c, err := range m.model.Stream(ctx, req) {
			// What comes because nobody waits any more is no answer.
			if err != nil && ctx.Err() == nil {
				add(func(x *Exchange) { x.Failure = failureOf(err, m.recorder.names) })
			}
			if err == nil && c.Kind == loop.ChunkReply && c.Reply != nil {
				reply := counted(Reply(*c.Reply), m.recorder.names)
				add(func(x *Exchange) { x.Reply = &reply })
			}
			if !yield(c, err) {
				return
			}
			if err == nil && c.Kind != loop.ChunkReply {
				add(func(x *Exchange) { x.Chunks = append(x.Chunks, counted(chunkOf(c), m.recorder.names)) })
			}
		}
	}
}

// exchange begins one, and returns what adds to it.
func (r *Recorder) exchange(req loop.Request) (add func(func(*Exchange))) {
	raw, err := Canonical(req)
	if err != nil {
		r.Missing(fmt.Sprintf("a model request: %v", err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.s.Model)
	r.s.Model = append(r.s.Model, Exchange{Request: r.names.Count(raw), At: len(r.s.Inputs)})
	return func(change func(*Exchange)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		change(&r.s.Model[i])
	}
}

// Source says what a tool is, to a recorder.
type Source struct {
	Server string // whose tool it is; empty for one of our own
	// Reads are the files, by their names on paper, that a call of one of our own looks at: false where it cannot be said. A name
	// that ends in a slash is a folder with all that is in it. nil: it looks at none, and runs again in a replay.
	Reads func(args json.RawMessage) ([]string, bool)
	// Outside says that what it does is not done again in a replay: it runs commands.
	Outside bool
	// Prepare makes the workspace what a call is to find, before it is looked at. May be nil.
	Prepare func(c loop.Call, run bool) error
}

// Tool records the calls of a tool.
func (r *Recorder) Tool(t loop.Tool, src Source) loop.Tool { return &recordedTool{t, r, src} }

type recordedTool struct {
	loop.Tool
	recorder *Recorder
	source   Source
}

// call is the record of a call. The caller holds mu.
func (r *Recorder) call(c loop.Call, src Source) *Call {
	i, known := r.calls[c.ID]
	if !known {
		i = len(r.s.Calls)
		r.calls[c.ID] = i
		r.s.Calls = append(r.s.Calls, Call{ID: c.ID, Tool: c.Tool, Server: src.Server})
	}
	return &r.s.Calls[i]
}

// look records the files that a call is about to look at. The caller holds mu.
func (r *Recorder) look(c loop.Call, src Source, run bool) Disk {
	if src.Prepare != nil {
		if err := src.Prepare(c, run); err != nil {
			r.unverified(c, src, "its files cannot be laid out: "+err.Error())
		}
	}
	if src.Reads == nil {
		return nil
	}
	names, ok := src.Reads(c.Args)
	if !ok {
		return nil
	}
	disk, why := r.files.look(names)
	if why != "" {
		r.unverified(c, src, why)
	}
	return disk
}

func (r *Recorder) unverified(c loop.Call, src Source, why string) {
	if call := r.call(c, src); call.Unverified == "" {
		call.Unverified = why
	}
}

// Preview implements loop.Tool.
func (t *recordedTool) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	r := t.recorder
	r.mu.Lock()
	p := Previewing{At: len(r.s.Inputs), Disk: r.look(c, t.source, false), Args: r.names.Count(c.Args)}
	call := r.call(c, t.source)
	i := len(call.Previews)
	call.Previews = append(call.Previews, p)
	r.mu.Unlock()
	preview, err := t.Tool.Preview(ctx, c)
	if err != nil && ctx.Err() != nil {
		return preview, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := &r.call(c, t.source).Previews[i]
	if err != nil {
		at.Failure = r.names.CountText(wordsOf(err))
		t.doubt(c)
		return preview, err
	}
	paper := counted(preview, r.names)
	at.Preview = &paper
	return preview, nil
}

// doubt marks a call that failed on a file that is not there: what it says of the files near it cannot be found again.
// The caller holds mu.
func (t *recordedTool) doubt(c loop.Call) {
	if t.source.Reads == nil || t.source.Outside {
		return
	}
	if names, ok := t.source.Reads(c.Args); !ok || t.recorder.files.absent(names[:min(1, len(names))]) {
		t.recorder.unverified(c, t.source, "it failed, and what is near the file was not recorded")
	}
}

// Run implements loop.Tool.
func (t *recordedTool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	r := t.recorder
	r.mu.Lock()
	run := Running{At: len(r.s.Inputs), Disk: r.look(j.Call, t.source, true), Job: counted(jobOf(j), r.names)}
	call := r.call(j.Call, t.source)
	i := len(call.Runs)
	call.Runs = append(call.Runs, run)
	r.mu.Unlock()
	result, err := t.Tool.Run(ctx, j, func(b loop.Block) {
		r.mu.Lock()
		at := &r.call(j.Call, t.source).Runs[i]
		at.Progress = append(at.Progress, counted(loop.Blocks{b}, r.names))
		r.mu.Unlock()
		report(b)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	at := &r.call(j.Call, t.source).Runs[i]
	if t.source.Outside || t.source.Server != "" || r.wrote {
		at.Left = r.files.left()
		r.wrote = false
	} else if names, ok := t.reads(j.Call.Args); ok {
		r.files.did(names)
	}
	var needs *loop.NeedsAnswer
	switch {
	case errors.As(err, &needs):
		q := counted(needs.Question, r.names)
		at.Question = &q
	case err != nil && ctx.Err() != nil: // nobody waits for it any more
	case err != nil:
		at.Failure = r.names.CountText(wordsOf(err))
		t.doubt(j.Call)
	default:
		paper := counted(result, r.names)
		at.Result = &paper
	}
	return result, err
}

func (t *recordedTool) reads(args json.RawMessage) ([]string, bool) {
	if t.source.Reads == nil {
		return nil, false
	}
	return t.source.Reads(args)
}

func wordsOf(err error) string {
	if text := err.Error(); text != "" {
		return text
	}
	return "It failed and did not say why."
}

// Scenario is what has been recorded so far. It shares nothing that the recorder still changes.
func (r *Recorder) Scenario() *Scenario {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.s
	s.Wire, s.Inputs, s.Kit, s.Log = slices.Clone(s.Wire), slices.Clone(s.Inputs), slices.Clone(s.Kit), slices.Clone(s.Log)
	s.Manifest.Missing = slices.Clone(s.Manifest.Missing)
	s.Manifest.Clock = slices.Clone(s.Manifest.Clock)
	s.Manifest.Models = maps.Clone(s.Manifest.Models)
	s.Model = slices.Clone(s.Model)
	for i := range s.Model {
		s.Model[i].Chunks = slices.Clone(s.Model[i].Chunks)
	}
	s.Calls = slices.Clone(s.Calls)
	for i := range s.Calls {
		s.Calls[i].Previews, s.Calls[i].Runs = slices.Clone(s.Calls[i].Previews), slices.Clone(s.Calls[i].Runs)
	}
	s.Config = maps.Clone(s.Config)
	s.Before, s.After = r.files.before(), r.files.after()
	s.Manifest.Captured = s.captured()
	return &s
}

// captured names what is inside.
func (s *Scenario) captured() []string {
	var out []string
	for _, part := range []struct {
		what  string
		there bool
	}{
		{"the log from before", len(s.Log) > 0},
		{"the client's lines, in and out", len(s.Wire) > 0},
		{"model requests and replies", len(s.Model) > 0},
		{"tool calls with arguments, meta and outcome", len(s.Calls) > 0},
		{"MCP servers: states, tools, prompts and resources that were used", len(s.Kit) > 0},
		{"files of the configuration folder: instructions and skills", len(s.Config) > 0},
		{"the workspace's files that were read or written", len(s.Before)+len(s.After) > 0},
		{"the clock", len(s.Manifest.Clock) > 0},
	} {
		if part.there {
			out = append(out, part.what)
		}
	}
	return out
}

// Close gives free what the recorder holds. What it has recorded stays.
func (r *Recorder) Close() error { return r.files.close() }
