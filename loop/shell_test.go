package loop_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

// tool is a tool made of functions. Without preview it previews nothing; without run it says "done".
type tool struct {
	spec    loop.Spec
	preview func(context.Context, loop.Call) (loop.Preview, error)
	run     func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error)
}

func (f tool) Spec() loop.Spec { return f.spec }

func (f tool) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	if f.preview == nil {
		return loop.Preview{}, nil
	}
	return f.preview(ctx, c)
}

func (f tool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	if f.run == nil {
		return text("done"), nil
	}
	return f.run(ctx, j, report)
}

func text(s string) loop.Result { return loop.Result{Content: loop.Blocks{loop.Text{Text: s}}} }

func free(name string) loop.Spec { return loop.Spec{Name: name, Default: loop.Allow} }

type gate func(context.Context, loop.Call, loop.Preview, []loop.Option) (loop.Outcome, error)

func (g gate) Ask(ctx context.Context, c loop.Call, p loop.Preview, o []loop.Option) (loop.Outcome, error) {
	return g(ctx, c, p, o)
}

func says(o loop.Outcome) gate {
	return func(context.Context, loop.Call, loop.Preview, []loop.Option) (loop.Outcome, error) { return o, nil }
}

type asker func(context.Context, loop.Call, loop.Question) (loop.Answer, error)

func (a asker) AskForm(ctx context.Context, c loop.Call, q loop.Question) (loop.Answer, error) {
	return a(ctx, c, q)
}

// memory is a log that knows how much of it has been synced, and that can be told to fail.
type memory struct {
	mu       sync.Mutex
	inputs   []loop.Input
	synced   int
	syncs    int
	failAt   int // the append that fails, from 1
	failSync int // the sync that fails, from 1
}

var errDisk = errors.New("disk full")

func (m *memory) Append(in ...loop.Input) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAt > 0 && len(m.inputs)+1 >= m.failAt {
		return errDisk
	}
	m.inputs = append(m.inputs, in...)
	return nil
}

func (m *memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncs++
	if m.failSync > 0 && m.syncs >= m.failSync {
		return errDisk
	}
	m.synced = len(m.inputs)
	return nil
}

// unsynced is what a crash of the machine would lose now.
func (m *memory) unsynced() []loop.Input {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.inputs[m.synced:])
}

// scene is a session with all that its turns need.
type scene struct {
	t      *testing.T
	runner *loop.Runner
	model  *scripted.Model
	log    *memory
	s      loop.State
	events []loop.Event
	on     func(loop.Event) // sees each event as it comes; may be nil
}

func set(t *testing.T, tools []loop.Tool, replies ...scripted.Reply) *scene {
	t.Helper()
	sc := &scene{t: t, model: scripted.New(replies...), log: &memory{}}
	sc.runner = &loop.Runner{Model: sc.model, Tools: tools, Log: sc.log}
	c := loop.Configured{System: "Be brief."}
	for _, tool := range tools {
		c.Specs = append(c.Specs, tool.Spec())
	}
	var err error
	sc.s, err = sc.runner.Configure(sc.s, c)
	require.NoError(t, err)
	return sc
}

func ask(s string) loop.Prompted {
	return loop.Prompted{MessageID: "u", Content: loop.Blocks{loop.Text{Text: s}}}
}

func (sc *scene) sink(_ context.Context, e loop.Event) error {
	sc.events = append(sc.events, e)
	if sc.on != nil {
		sc.on(e)
	}
	return nil
}

func (sc *scene) run(ctx context.Context, prompt string) (loop.StopReason, error) {
	s, reason, err := sc.runner.Run(ctx, sc.s, ask(prompt), sc.sink)
	sc.s = s
	return reason, err
}

// ends plays a turn that has to end in that way, and checks what holds of every such turn.
func (sc *scene) ends(ctx context.Context, prompt string, want loop.StopReason) {
	sc.t.Helper()
	reason, err := sc.run(ctx, prompt)
	require.NoError(sc.t, err)
	require.Equal(sc.t, want, reason)
	sc.whole()
}

// whole checks that the session is idle and synced, that each call was settled once, and that the log replays to just
// this.
func (sc *scene) whole() {
	sc.t.Helper()
	require.True(sc.t, sc.s.Idle())
	require.Empty(sc.t, sc.log.unsynced())
	open := map[string]bool{}
	for _, e := range sc.events {
		switch v := e.(type) {
		case loop.ToolProposed:
			open[v.Call.ID] = true
		case loop.ToolFinished:
			require.True(sc.t, open[v.Result.CallID])
			delete(open, v.Result.CallID)
		case loop.UserText, loop.AgentText, loop.AgentThought, loop.ToolPreviewed, loop.ToolStarted, loop.ToolInterrupted, loop.ToolProgress,
			loop.PlanChanged, loop.TitleChanged, loop.UsageChanged, loop.CompactionStarted, loop.CompactionSummary, loop.CompactionFinished:
		}
	}
	require.Empty(sc.t, open)
	s, events := loop.Replay(slices.Values(sc.log.inputs))
	assert.Equal(sc.t, sc.events, events)
	assert.Equal(sc.t, sc.s, s)
}

// results are the texts of the results so far, by call; those of failed calls begin with a "!".
func (sc *scene) results() map[string]string {
	out := map[string]string{}
	for _, e := range sc.events {
		if f, ok := e.(loop.ToolFinished); ok {
			out[f.Result.CallID] = loop.TextOf(f.Result.Content)
			if f.Result.Failed {
				out[f.Result.CallID] = "!" + out[f.Result.CallID]
			}
		}
	}
	return out
}

// calling is a reply that names the tools.
func calling(tools ...string) scripted.Reply {
	var r scripted.Reply
	for _, name := range tools {
		r.Calls = append(r.Calls, loop.NewCall("", name, ""))
	}
	return r
}
