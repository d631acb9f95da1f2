package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Runner plays turns: it logs each input, steps the core and performs the effects. Its fields are not changed while it
// runs; one Runner may play turns of several sessions at once.
type Runner struct {
	Model Model
	Tools []Tool
	Gate  Gate  // nil: nobody can be asked, and what needs permission is refused
	Asker Asker // nil: tools' questions fail, and the model is told to ask in words
	Log   Log   // nil: nothing is kept
	// Key makes the idempotency key of a call, the same whenever it is asked for the same call; nil: there are none.
	Key func(callID string) string
	// Later are all tools that there are by now. Those whose names are new are added, at the end, whenever a call has its
	// result, so that the model's next request has them; nil: none ever come.
	Later func() []Tool
	// Inbox brings inputs from outside of the turn while one runs, such as Chosen; nil: none. What is taken from it is
	// logged and stepped, also when the turn has been cancelled meanwhile.
	Inbox <-chan Input
	// Crashed hears of a panic in a tool or a model, which is settled like any other failure; may be nil.
	Crashed func(what string, value any, stack []byte)
}

// ErrMidTurn is returned for a state whose last turn has not ended. End it with an Interrupted input first.
var ErrMidTurn = errors.New("the session's last turn has not ended")

// ErrGone is what a turn's context is cancelled with, as its cause, and what a Gate or an Asker returns, when nobody is
// there any more who could answer: the turn is interrupted, not cancelled.
var ErrGone = errors.New("the client is gone")

// ErrStorage is wrapped by errors of a log that cannot be written. The state that comes with it is that of the log, as
// far as that can be known, and may be in mid-turn: rebuild it from the log before the next turn.
var ErrStorage = errors.New("the session's log cannot be written")

// Configure logs and applies a configuration. It may be called between turns only.
func (r *Runner) Configure(s State, c Configured) (State, error) {
	if err := r.append(c); err != nil {
		return s, err
	}
	s, _ = Step(s, c)
	return s, nil
}

// Run plays one turn. sink is called from this goroutine only, in order, and may outlast ctx. When ctx ends the turn is
// cancelled: its open calls are settled, the model's stream is given up, and the reason is StopCancelled, with no error.
// A failing model is a *Failure; a failing sink cancels the turn and is the error. When Run returns, nothing that it
// started is left, and the log is synced. With ErrGone, or a failing sink, the turn is interrupted instead: what the
// person was asked and what may have been done is left to the next turn.
func (r *Runner) Run(ctx context.Context, s State, p Prompted, sink Sink) (State, StopReason, error) {
	if !s.Idle() && !s.Interrupted() {
		return s, "", ErrMidTurn
	}
	work, stop := context.WithCancel(ctx)
	t := &turn{
		runner: r, ctx: work, sink: sink, inputs: make(chan delivery),
		tools: make(map[string]Tool, len(r.Tools)), named: make(map[string]string),
	}
	defer t.wait(stop)
	for _, tool := range r.Tools {
		t.tools[tool.Spec().Name] = tool
	}
	for next := Input(p); ; next = t.next(ctx) {
		if _, ok := next.(Finished); ok {
			if c, more := t.renewed(s); more {
				if err := r.append(c); err != nil {
					return s, "", errors.Join(err, t.sinkErr)
				}
				s, _ = Step(s, c)
			}
		}
		logged, err := t.record(next)
		if err != nil {
			if logged {
				s, _ = Step(s, next) // it happened, and nothing comes of it
			}
			return s, "", errors.Join(err, t.sinkErr)
		}
		var effects []Effect
		s, effects = Step(s, next)
		for _, e := range effects {
			if end := t.perform(ctx, e); end != nil {
				return s, end.reason, errors.Join(end.err, t.sinkErr, r.sync())
			}
		}
		t.carriedOut()
	}
}

// renewed is the configuration with the tools that have come meanwhile, if any have.
func (t *turn) renewed(s State) (Configured, bool) {
	if t.runner.Later == nil {
		return Configured{}, false
	}
	specs := s.Specs()
	for _, tool := range t.runner.Later() {
		spec := tool.Spec()
		if _, known := s.spec(spec.Name); known {
			continue
		}
		specs = append(specs, spec)
		t.tools[spec.Name] = tool
	}
	if len(specs) == len(s.specs) {
		return Configured{}, false
	}
	return Configured{Specs: specs, Rules: s.rules, Limits: s.limits, System: s.system}, true
}

func (t *turn) carriedOut() {
	if t.taken != nil {
		close(t.taken)
		t.taken = nil
	}
}

func (r *Runner) append(in Input) error {
	if r.Log == nil {
		return nil
	}
	if err := r.Log.Append(in); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

func (r *Runner) sync() error {
	if r.Log == nil {
		return nil
	}
	if err := r.Log.Sync(); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// delivery is an input from one of a turn's goroutines. done, if there is one, is closed when all that it causes has
// been carried out.
type delivery struct {
	in   Input
	done chan struct{}
}

// turn is one run: its goroutines, and the inputs that they post.
type turn struct {
	runner  *Runner
	ctx     context.Context //nolint:containedctx // the turn's own, ended by Run before it returns
	sink    Sink
	sinkErr error
	tools   map[string]Tool
	inputs  chan delivery
	taken   chan struct{}     // of the delivery that is being carried out; nil for other inputs
	pending []Input           // inputs that Run itself owes
	named   map[string]string // the tool of each call that is about to run
	group   sync.WaitGroup
}

func (t *turn) wait(stop context.CancelFunc) {
	stop()
	t.group.Wait()
}

// next is what happens next. A cancel comes before everything else, so that a stream that broke off because of it is
// not taken for a failure.
func (t *turn) next(ctx context.Context) Input {
	if t.sinkErr != nil || ctx.Err() != nil {
		return t.over(ctx)
	}
	if len(t.pending) > 0 {
		in := t.pending[0]
		t.pending = t.pending[1:]
		return in
	}
	select {
	case <-ctx.Done():
		return t.over(ctx)
	case in := <-t.runner.Inbox:
		return in
	case d := <-t.inputs:
		if ctx.Err() != nil {
			return t.over(ctx)
		}
		t.taken = d.done
		return d.in
	}
}

// over is how a turn ends that does not come to its own end.
func (t *turn) over(ctx context.Context) Input {
	if t.sinkErr != nil || errors.Is(context.Cause(ctx), ErrGone) {
		return Interrupted{}
	}
	return Cancelled{}
}

// record logs an input before the core sees it. The intent to do something that outlasts this process is on disk
// before anything is done. An input that is logged may be so in spite of an error.
func (t *turn) record(in Input) (logged bool, err error) {
	if err := t.runner.append(in); err != nil {
		return false, err
	}
	if v, ok := in.(Intended); ok && t.leavesTraces(v.CallID) {
		return true, t.runner.sync()
	}
	return true, nil
}

func (t *turn) post(in Input) bool {
	select {
	case t.inputs <- delivery{in: in}:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// ending is how a turn ended.
type ending struct {
	reason StopReason
	err    error
}

// show is post for progress: it returns when the client has been told, so that what a tool does next comes after it.
func (t *turn) show(in Input) {
	d := delivery{in: in, done: make(chan struct{})}
	select {
	case t.inputs <- d:
	case <-t.ctx.Done():
		return
	}
	select {
	case <-d.done:
	case <-t.ctx.Done():
	}
}

// perform does what an effect says. The last effect of a turn is its ending; for every other there is none.
func (t *turn) perform(ctx context.Context, e Effect) *ending {
	switch v := e.(type) {
	case Emit:
		if t.sinkErr == nil {
			t.sinkErr = t.sink(context.WithoutCancel(ctx), v.Event)
		}
	case AskModel:
		t.group.Go(func() { t.post(fit(t.stream(v.Request), modelUnfit)) })
	case PreviewCall:
		t.group.Go(func() {
			t.post(fit(t.preview(v.Call), func(why string) Input { return Previewed{CallID: v.Call.ID, Failure: why} }))
		})
	case AskUser:
		t.group.Go(func() { t.post(t.askUser(v)) })
	case Intend:
		t.named[v.Call.ID] = v.Call.Tool
		in := Intended{CallID: v.Call.ID}
		if t.runner.Key != nil {
			in.Key = t.runner.Key(v.Call.ID)
		}
		t.pending = append(t.pending, in)
	case RunTool:
		t.group.Go(func() {
			t.post(fit(t.run(v.Job), func(why string) Input { return Finished{Result: Failed(v.Job.Call.ID, why)} }))
		})
	case CheckCall:
		t.group.Go(func() {
			t.post(fit(t.check(v.Job), func(string) Input { return Checked{CallID: v.Job.Call.ID, Finding: FoundUnknown} }))
		})
	case AskForm:
		t.group.Go(func() {
			t.post(fit(t.askForm(v), func(why string) Input { return Answered{CallID: v.Call.ID, Failure: why} }))
		})
	case EndTurn:
		return &ending{reason: v.Reason}
	case FailTurn:
		return &ending{err: &v.Failure}
	}
	return nil
}

// fit is the input if a log can hold it. What a tool, a model or a person's client hands over may be no JSON where it
// should be, and that is their failure, not the log's.
func fit(in Input, otherwise func(why string) Input) Input {
	if _, _, err := EncodeInput(in); err != nil {
		return otherwise("What came back is malformed (" + err.Error() + ").")
	}
	return in
}

func modelUnfit(why string) Input {
	return ModelFailed{Failure: Failure{Kind: FailInternal, Message: why}}
}

// wordsOf is an error's text. It is never empty, because an empty failure reads as a success.
func wordsOf(err error) string {
	if text := err.Error(); text != "" {
		return text
	}
	return "It failed and did not say why."
}

// stream posts what the model streams and returns what ends the stream.
func (t *turn) stream(req Request) (end Input) {
	defer t.caught("model", func(text string) {
		end = ModelFailed{Failure: Failure{Kind: FailInternal, Message: "The model's adapter crashed (" + text + ")."}}
	})
	for chunk, err := range t.runner.Model.Stream(t.ctx, req) {
		if err != nil {
			var f *Failure
			if !errors.As(err, &f) {
				f = &Failure{Kind: FailInternal, Message: wordsOf(err)}
			}
			return ModelFailed{Failure: *f}
		}
		if chunk.Kind == ChunkReply && chunk.Reply != nil {
			return Replied{Message: chunk.Reply.Message, Stop: chunk.Reply.Stop, Usage: chunk.Reply.Usage}
		}
		if !t.post(Streamed{Kind: chunk.Kind, Text: chunk.Text}) {
			break
		}
	}
	return ModelFailed{Failure: Failure{Kind: FailIncomplete, Message: "The model's answer broke off before its end."}}
}

func (t *turn) preview(c Call) (in Input) {
	tool, ok := t.tools[c.Tool]
	if !ok {
		return Previewed{CallID: c.ID, Failure: "The tool " + c.Tool + " is not available now."}
	}
	defer t.caught("tool "+c.Tool, func(text string) { in = Previewed{CallID: c.ID, Failure: "The tool crashed: " + text + "."} })
	p, err := tool.Preview(t.ctx, c)
	if err != nil {
		return Previewed{CallID: c.ID, Failure: wordsOf(err)}
	}
	return Previewed{CallID: c.ID, Preview: p}
}

func (t *turn) askUser(e AskUser) (in Input) {
	if t.runner.Gate == nil {
		return Decided{CallID: e.Call.ID, Outcome: Unavailable}
	}
	defer t.caught("permission gate", func(text string) { in = Decided{CallID: e.Call.ID, Outcome: Unavailable, Why: text} })
	outcome, err := t.runner.Gate.Ask(t.ctx, e.Call, e.Preview, e.Options)
	if errors.Is(err, ErrGone) {
		return Interrupted{}
	}
	if err != nil {
		return Decided{CallID: e.Call.ID, Outcome: Unavailable, Why: wordsOf(err)}
	}
	return Decided{CallID: e.Call.ID, Outcome: outcome}
}

func (t *turn) run(j Job) (in Input) {
	id := j.Call.ID
	tool, ok := t.tools[j.Call.Tool]
	if !ok {
		return Finished{Result: Failed(id, "The tool "+j.Call.Tool+" is not available now.")}
	}
	defer t.caught("tool "+j.Call.Tool, func(text string) { in = Finished{Result: Failed(id, "The tool crashed: "+text+".")} })
	report := func(part Block) {
		in := Progressed{CallID: id, Part: Blocks{part}}
		if _, _, err := EncodeInput(in); err == nil {
			t.show(in)
		}
	}
	result, err := tool.Run(t.ctx, j, report)
	var needs *NeedsAnswer
	switch {
	case errors.As(err, &needs):
		return Asked{CallID: id, Question: needs.Question}
	case err != nil:
		return Finished{Result: Failed(id, wordsOf(err))}
	}
	result.CallID = id
	return Finished{Result: result}
}

// check says what has become of a call in doubt. Only a tool that can tell is asked.
func (t *turn) check(j Job) (in Input) {
	unknown := Checked{CallID: j.Call.ID, Finding: FoundUnknown}
	tool, ok := t.tools[j.Call.Tool].(Checker)
	if !ok {
		return unknown
	}
	defer t.caught("tool "+j.Call.Tool, func(string) { in = unknown })
	finding, result, err := tool.Check(t.ctx, j)
	switch {
	case err != nil:
		return unknown
	case finding == FoundDone:
		result.CallID = j.Call.ID
		return Checked{CallID: j.Call.ID, Finding: finding, Result: result}
	}
	return Checked{CallID: j.Call.ID, Finding: finding}
}

func (t *turn) askForm(e AskForm) (in Input) {
	id := e.Call.ID
	if t.runner.Asker == nil {
		return Answered{CallID: id, Failure: "The tool asks: " + e.Question.Message +
			" Nobody can be asked that way here: ask the user in words, then call again with the answer."}
	}
	defer t.caught("question", func(text string) { in = Answered{CallID: id, Failure: "Asking the user crashed: " + text + "."} })
	answer, err := t.runner.Asker.AskForm(t.ctx, e.Call, e.Question)
	if errors.Is(err, ErrGone) {
		return Interrupted{}
	}
	if err != nil {
		return Answered{CallID: id, Failure: wordsOf(err)}
	}
	return Answered{CallID: id, Answer: answer}
}

// caught turns a panic of the function that defers it, itself, into a failure.
func (t *turn) caught(what string, settle func(text string)) {
	v := recover()
	if v == nil {
		return
	}
	if t.runner.Crashed != nil {
		t.runner.Crashed(what, v, debug.Stack())
	}
	settle(fmt.Sprint(v))
}

// leavesTraces says whether a call may change something outside this process.
func (t *turn) leavesTraces(callID string) bool {
	tool, ok := t.tools[t.named[callID]]
	return !ok || !tool.Spec().ReadOnly
}
