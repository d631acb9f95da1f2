package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
)

// sessionView is a session as people look at it: what the core makes of its inputs, with the times of the log.
type sessionView struct {
	Info     session.Info
	Title    string
	Model    string
	Redacted bool
	Turns    []*turnView
	Usage    loop.Usage // the sum of all model requests
	Problems []session.Problem
}

// turnView is a prompt and what came of it. Prompt 0 is what came before the first one.
type turnView struct {
	N          int
	Began, End time.Time
	Items      []*itemView
	Stop       loop.StopReason
	Usage      loop.Usage
	Requests   int
	Model      []spanView // when the model was asked and at work
}

// spanView is a time from one moment to another.
type spanView struct{ From, To time.Time }

// The kinds of item.
const (
	itemUser    = "user"
	itemAgent   = "agent"
	itemThought = "thought"
	itemTool    = "tool"
	itemNote    = "note"  // of the harness
	itemFault   = "fault" // a failure, or an interruption
)

// itemView is one entry of a turn.
type itemView struct {
	Kind string
	At   time.Time
	ID   string // of the message that chunks of text belong to
	Text string
	Part loop.Block // of a prompt, where it is no text
	Tool *toolView
}

// toolView is a call, from its proposal to its end.
type toolView struct {
	ID, Name, Title string
	Kind            loop.Kind
	Args            json.RawMessage
	Locations       []loop.Location
	Shown           loop.Blocks // a diff, for example, from its preview or its result
	Output          loop.Blocks
	Asked, Answered time.Time // of the question of permission; zero where there was none
	Outcome         loop.Outcome
	Why             string
	Started, End    time.Time
	Done, Failed    bool
	Questions       []string // what the tool wanted to know, and the answers
}

// Waited is how long the person took; Took how long the call ran.
func (t *toolView) Waited() time.Duration { return between(t.Asked, t.Answered) }

// Took is how long the call ran.
func (t *toolView) Took() time.Duration { return between(t.Started, t.End) }

// Took is how long the turn was.
func (t *turnView) Took() time.Duration { return between(t.Began, t.End) }

func between(from, to time.Time) time.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return to.Sub(from)
}

// viewer makes a view by folding the inputs.
type viewer struct {
	out   *sessionView
	state loop.State
	turn  *turnView
	calls map[string]*toolView
	at    time.Time
	asked time.Time // when the model was asked that has not answered yet
}

func viewOf(info session.Info, records []session.Record, problems []session.Problem) *sessionView {
	v := viewer{out: &sessionView{Info: info, Problems: problems}, calls: map[string]*toolView{}}
	for _, r := range records {
		v.at = r.At
		v.out.Redacted = v.out.Redacted || r.Redacted
		v.input(r)
	}
	v.out.Title = v.state.Title()
	return v.out
}

func (v *viewer) input(r session.Record) {
	v.before(r.Input)
	v.answered(r.Input)
	var effects []loop.Effect
	v.state, effects = loop.Step(v.state, r.Input)
	for _, e := range effects {
		v.effect(e)
	}
	switch in := r.Input.(type) {
	case loop.Interrupted:
		v.item(itemFault).Text = "interrupted"
	case loop.Replied:
		v.now().Requests++
		v.spent(in.Usage)
	case loop.Unknown:
		if r.Redacted {
			v.item(itemNote).Text = "redacted: " + r.Kind
		} else {
			v.item(itemNote).Text = "a record of a kind that this version does not know: " + r.Kind
		}
	default: // the effects say it
	}
	if v.turn != nil {
		v.turn.End = r.At
	}
}

// before takes from an input what the core's effects do not say.
func (v *viewer) before(in loop.Input) {
	switch in := in.(type) {
	case loop.Prompted:
		v.begin()
	case loop.Noted:
		v.begin()
	case loop.Compacting:
		v.begin()
	case loop.Chosen:
		if in.Option == "model" {
			v.out.Model = in.Value
		}
		v.item(itemNote).Text = in.Option + ": " + in.Value
	case loop.Decided:
		if c := v.calls[in.CallID]; c != nil {
			c.Outcome, c.Why, c.Answered = in.Outcome, in.Why, v.at
		}
	case loop.Asked:
		if c := v.calls[in.CallID]; c != nil {
			c.Questions = append(c.Questions, "asked: "+in.Question.Message)
		}
	case loop.Answered:
		if c := v.calls[in.CallID]; c != nil {
			answer := cmp.Or(in.Failure, string(in.Answer.Action))
			if in.Answer.Content != nil {
				answer += " " + string(in.Answer.Content)
			}
			c.Questions = append(c.Questions, "answer: "+answer)
		}
	case loop.Revoked:
		v.item(itemNote).Text = fmt.Sprintf("rule %d was revoked", in.Rule+1)
	default: // the effects say it
	}
}

// answered ends the request to the model that is under way.
func (v *viewer) answered(in loop.Input) {
	switch in.(type) {
	case loop.Replied, loop.ModelFailed, loop.Cancelled, loop.Interrupted:
		if !v.asked.IsZero() {
			t := v.now()
			t.Model = append(t.Model, spanView{v.asked, v.at})
		}
		v.asked = time.Time{}
	default: // it goes on
	}
}

// begin starts a turn.
func (v *viewer) begin() {
	n := 1
	if len(v.out.Turns) > 0 {
		n = v.out.Turns[len(v.out.Turns)-1].N + 1
	}
	v.turn = &turnView{N: n, Began: v.at}
	v.out.Turns = append(v.out.Turns, v.turn)
}

// now is the turn under way, also before the first prompt.
func (v *viewer) now() *turnView {
	if v.turn == nil {
		v.turn = &turnView{Began: v.at}
		v.out.Turns = append(v.out.Turns, v.turn)
	}
	return v.turn
}

func (v *viewer) item(kind string) *itemView {
	t := v.now()
	i := &itemView{Kind: kind, At: v.at}
	t.Items = append(t.Items, i)
	return i
}

// chunk adds to the message that is being said.
func (v *viewer) chunk(kind, id, text string) {
	t := v.now()
	if n := len(t.Items); n > 0 && t.Items[n-1].Kind == kind && t.Items[n-1].ID == id {
		t.Items[n-1].Text += text
		return
	}
	i := v.item(kind)
	i.ID, i.Text = id, text
}

func (v *viewer) spent(u loop.Usage) {
	for _, sum := range []*loop.Usage{&v.now().Usage, &v.out.Usage} {
		sum.Input += u.Input
		sum.Output += u.Output
		sum.CacheRead += u.CacheRead
		sum.CacheWrite += u.CacheWrite
	}
}

func (v *viewer) effect(e loop.Effect) {
	switch e := e.(type) {
	case loop.Emit:
		v.event(e.Event)
	case loop.AskUser:
		if c := v.calls[e.Call.ID]; c != nil {
			c.Asked = v.at
			c.Shown = shownBlocks(e.Preview.Display, c.Shown)
		}
	case loop.EndTurn:
		v.now().Stop = e.Reason
	case loop.FailTurn:
		v.item(itemFault).Text = e.Failure.Message
	case loop.AskModel:
		v.asked = v.at
	case loop.PreviewCall, loop.CheckCall, loop.Intend, loop.RunTool, loop.AskForm:
	}
}

func (v *viewer) event(e loop.Event) {
	switch e := e.(type) {
	case loop.UserText:
		i := v.item(itemUser)
		if text, ok := e.Part.(loop.Text); ok {
			i.Text = text.Text
		} else {
			i.Part = e.Part
		}
	case loop.AgentText:
		v.chunk(itemAgent, e.MessageID, e.Text)
	case loop.AgentThought:
		v.chunk(itemThought, e.MessageID, e.Text)
	case loop.ToolProposed:
		i := v.item(itemTool)
		i.Tool = &toolView{ID: e.Call.ID, Name: e.Call.Tool, Title: e.Title, Kind: e.Kind, Args: e.Call.Args}
		v.calls[e.Call.ID] = i.Tool
	case loop.CompactionSummary:
		v.item(itemNote).Text = "the conversation so far was summarized:\n" + e.Text
	case loop.CompactionFinished:
		if e.Status != loop.CompactionCompleted {
			v.item(itemNote).Text = "summarizing the conversation: " + string(e.Status)
		}
	default:
		v.toolEvent(e)
	}
}

func (v *viewer) toolEvent(e loop.Event) {
	switch e := e.(type) {
	case loop.ToolPreviewed:
		if c := v.calls[e.CallID]; c != nil {
			c.Title = cmp.Or(e.Preview.Title, c.Title)
			c.Locations, c.Shown = e.Preview.Locations, e.Preview.Display
		}
	case loop.ToolStarted:
		if c := v.calls[e.CallID]; c != nil {
			c.Started = v.at
		}
	case loop.ToolInterrupted:
		if c := v.calls[e.CallID]; c != nil {
			c.End = v.at
		}
	case loop.ToolProgress:
		if c := v.calls[e.CallID]; c != nil {
			c.Output = slices.Clone(e.Part)
		}
	case loop.ToolFinished:
		if c := v.calls[e.Result.CallID]; c != nil {
			c.End, c.Done, c.Failed = v.at, true, e.Result.Failed
			c.Shown = shownBlocks(e.Result.Display, c.Shown)
			c.Output = withoutDiffs(e.Result.Content)
		}
	default: // plans, titles and usage are seen elsewhere
	}
}

// shownBlocks are the diffs of blocks, or else what there was.
func shownBlocks(blocks, before loop.Blocks) loop.Blocks {
	var out loop.Blocks
	for _, b := range blocks {
		switch b.(type) {
		case loop.Diff, loop.Plan:
			out = append(out, b)
		default: // is output
		}
	}
	if out == nil {
		return before
	}
	return out
}

func withoutDiffs(blocks loop.Blocks) loop.Blocks {
	return slices.DeleteFunc(slices.Clone(blocks), func(b loop.Block) bool { _, diff := b.(loop.Diff); return diff })
}

// Status is how the call ended, in a word.
func (t *toolView) Status() string {
	switch {
	case t.Done && t.Failed:
		return "failed"
	case t.Done:
		return "done"
	case !t.Asked.IsZero() && t.Answered.IsZero():
		return "asked"
	case !t.Started.IsZero():
		return "open"
	}
	return "proposed"
}

// Permission says what the person said, or nothing where nobody was asked.
func (t *toolView) Permission() string {
	words := map[loop.Outcome]string{
		loop.AllowOnce: "allowed once", loop.AllowAlways: "always allowed", loop.RejectOnce: "refused",
		loop.RejectAlways: "always refused", loop.Dismissed: "asked, not answered", loop.Unavailable: "nobody could be asked",
	}[t.Outcome]
	if words == "" {
		return string(t.Outcome)
	}
	if w := t.Waited(); w > 0 && t.Outcome != loop.Unavailable {
		words += " after " + brief(w)
	}
	return words
}

// Arguments are those of the call for people: indented where they are long, and nothing where the title has them.
func (t *toolView) Arguments() string {
	const short = 100
	switch {
	case len(t.Args) == 0, string(t.Args) == "{}", strings.Contains(t.Title, string(t.Args)):
		return ""
	case len(t.Args) < short:
		return string(t.Args)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, t.Args, "", "  "); err != nil {
		return string(t.Args)
	}
	return b.String()
}

// brief is a duration to three places at most.
func brief(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// blockText is a block as text.
func blockText(b loop.Block) string {
	switch b := b.(type) {
	case loop.Text:
		return b.Text
	case loop.Thought:
		return b.Text
	case loop.Image:
		return fmt.Sprintf("[image %s, %s]", b.MIME, size(len(b.Data)))
	case loop.Audio:
		return fmt.Sprintf("[audio %s, %s]", b.MIME, size(len(b.Data)))
	case loop.Link:
		return "[" + b.URI + "]"
	case loop.Resource:
		if b.Blob != nil {
			return fmt.Sprintf("[%s, %s, %s]", b.URI, b.MIME, size(len(b.Blob)))
		}
		return "[" + b.URI + "]\n" + b.Text
	case loop.Diff:
		return "[diff of " + b.Path + "]"
	case loop.Terminal:
		return "[terminal " + b.ID + "]"
	case loop.Plan:
		return planText(b)
	case loop.Other:
		return "[" + b.Type + "]"
	}
	return ""
}

func planText(p loop.Plan) string {
	var out strings.Builder
	for _, e := range p.Entries {
		mark := map[string]string{"completed": "[x]", "in_progress": "[>]"}[e.Status]
		out.WriteString(cmp.Or(mark, "[ ]") + " " + e.Content + "\n")
	}
	return out.String()
}

// size is a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
