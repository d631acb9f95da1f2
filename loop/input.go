package loop

import "encoding/json"

// Input is something that happened. A session is the fold of its inputs; each is logged before Step sees it.
//
//sumtype:decl
type Input interface{ input() }

type (
	// Configured comes first, and again whenever what it holds changes. Rules that the person has added by
	// answering stay in force beside these.
	Configured struct {
		Specs  []Spec `json:"specs,omitempty"`
		Rules  Rules  `json:"rules,omitempty"`
		Limits Limits `json:"limits,omitzero"`
		System string `json:"system,omitempty"`
	}
	// Chosen sets an option of the session: its mode, its model, and others that only the shell knows. It may come at any
	// time, in a turn too.
	Chosen struct {
		Option string `json:"option"`
		Value  string `json:"value"`
	}
	// Prompted begins a turn. Where the one before was interrupted and has calls left, those are finished first. Context is what the harness tells the model along with the prompt (the date, the
	// workspace, its instructions); clients never see it.
	Prompted struct {
		MessageID string `json:"messageId,omitempty"`
		Content   Blocks `json:"content"`
		Context   Blocks `json:"context,omitempty"`
		Trace     Trace  `json:"trace,omitempty"`
	}
	// Noted is an exchange that the model knows nothing of: a command that the harness answered itself.
	Noted struct {
		MessageID string `json:"messageId,omitempty"`
		Content   Blocks `json:"content"`
		Text      string `json:"text"`
	}
	// Revoked takes back a rule that the person's answers added: the one at that place of State.Added. Between turns only.
	Revoked struct {
		Rule int `json:"rule"`
	}
	// Streamed is text or a thought, as it comes from the model.
	Streamed struct {
		Kind ChunkKind `json:"kind"`
		Text string    `json:"text"`
	}
	// Replied ends a model's stream.
	Replied struct {
		Message Message    `json:"message"`
		Stop    StopReason `json:"stop"`
		Usage   Usage      `json:"usage,omitzero"`
	}
	// ModelFailed ends a model's stream without a reply, and the turn or the compaction with it.
	ModelFailed struct {
		Failure Failure `json:"failure"`
	}
	// Previewed is a tool's preview of a call, or why there is none.
	Previewed struct {
		CallID  string  `json:"call"`
		Preview Preview `json:"preview,omitzero"`
		Failure string  `json:"failure,omitempty"`
	}
	// Decided is the person's answer to AskUser. Why says more where nobody answered.
	Decided struct {
		CallID  string  `json:"call"`
		Outcome Outcome `json:"outcome"`
		Why     string  `json:"why,omitempty"`
	}
	// Intended says that a call is about to run. It is on disk before the tool starts.
	Intended struct {
		CallID string `json:"call"`
		Key    string `json:"key,omitempty"`
	}
	// Checked says what has become of a call in doubt. Result is that of one that is done.
	Checked struct {
		CallID  string  `json:"call"`
		Finding Finding `json:"finding"`
		Result  Result  `json:"result,omitzero"`
	}
	// Asked is a running tool's question to the person.
	Asked struct {
		CallID   string   `json:"call"`
		Question Question `json:"question"`
	}
	// Answered is the person's answer, or why there is none.
	Answered struct {
		CallID  string `json:"call"`
		Answer  Answer `json:"answer,omitzero"`
		Failure string `json:"failure,omitempty"`
	}
	// Progressed is something a running tool shows.
	Progressed struct {
		CallID string `json:"call"`
		Part   Blocks `json:"part"`
	}
	// Finished is a tool's result.
	Finished struct {
		Result Result `json:"result"`
	}
	// Compacting begins a compaction, between turns: the model is being asked for a summary. Content is the command that
	// asked for it. Compacted, ModelFailed or Cancelled ends it.
	Compacting struct {
		MessageID string `json:"messageId,omitempty"`
		Content   Blocks `json:"content,omitempty"`
	}
	// Compacted replaces all but the last Keep messages of history by one that holds Context and Summary. Context is
	// what the harness tells the model along with it; clients never see it.
	Compacted struct {
		Keep    int    `json:"keep"`
		Context Blocks `json:"context,omitempty"`
		Summary string `json:"summary"`
	}
	// Cancelled ends the turn or the compaction, by the person.
	Cancelled struct{}
	// Interrupted says that who ran the turn is gone: the process, or the client that could have answered. What was only
	// proposed is settled; a question that is open, and a call that was running and may have taken effect, are left for
	// the next Prompted, which comes back to them before anything else.
	Interrupted struct{}
	// Unknown is an input of a kind that this build does not know, kept as it came. Step ignores it.
	Unknown struct {
		Kind string
		Body json.RawMessage
	}
)

func (Configured) input()  {}
func (Chosen) input()      {}
func (Prompted) input()    {}
func (Noted) input()       {}
func (Revoked) input()     {}
func (Streamed) input()    {}
func (Replied) input()     {}
func (ModelFailed) input() {}
func (Previewed) input()   {}
func (Decided) input()     {}
func (Intended) input()    {}
func (Checked) input()     {}
func (Asked) input()       {}
func (Answered) input()    {}
func (Progressed) input()  {}
func (Finished) input()    {}
func (Compacting) input()  {}
func (Compacted) input()   {}
func (Cancelled) input()   {}
func (Interrupted) input() {}
func (Unknown) input()     {}

// Limits bound a turn. Zero means the default.
type Limits struct {
	Requests int `json:"requests,omitempty"` // model requests in one turn
	Repeats  int `json:"repeats,omitempty"`  // times in a row the same calls may have the same results
}

// The limits that hold where none are set.
const (
	DefaultRequests = 200
	DefaultRepeats  = 4
)
