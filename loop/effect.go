package loop

// Effect is something the shell must do, in the order that Step gave.
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Emit sends an event to the sink.
	Emit struct{ Event Event }
	// AskModel asks the model; answered by Streamed inputs and then Replied or ModelFailed.
	AskModel struct{ Request Request }
	// PreviewCall has the tool preview a call; answered by Previewed.
	PreviewCall struct{ Call Call }
	// AskUser asks whether a call may run; answered by Decided.
	AskUser struct {
		Call    Call
		Preview Preview
		Options []Option
	}
	// Intend puts the intent to run a call into the log; answered by Intended. Only then can RunTool exist.
	Intend struct{ Call Call }
	// RunTool runs the call; answered by Progressed and Asked inputs and then Finished.
	RunTool struct{ Job Job }
	// CheckCall looks what has become of a call in doubt; answered by Checked.
	CheckCall struct{ Job Job }
	// AskForm puts a running call's question to the person; answered by Answered.
	AskForm struct {
		Call     Call
		Question Question
	}
	// EndTurn is the last effect of a turn.
	EndTurn struct{ Reason StopReason }
	// FailTurn is the last effect of a turn whose model failed: the only way in which a turn errors.
	FailTurn struct{ Failure Failure }
)

func (Emit) effect()        {}
func (AskModel) effect()    {}
func (PreviewCall) effect() {}
func (AskUser) effect()     {}
func (Intend) effect()      {}
func (RunTool) effect()     {}
func (CheckCall) effect()   {}
func (AskForm) effect()     {}
func (EndTurn) effect()     {}
func (FailTurn) effect()    {}

// OptionKind is the kind of a permission option, by ACP's names.
type OptionKind string

// Option is one answer that the person may give to AskUser. Its kind is its id.
type Option struct {
	Kind OptionKind
	Name string
}

// Outcome is how AskUser ended: one of the kinds of option, or that there was no answer.
type Outcome = OptionKind

// The outcomes. The first four are the kinds of option too.
const (
	AllowOnce    Outcome = "allow_once"
	AllowAlways  Outcome = "allow_always"
	RejectOnce   Outcome = "reject_once"
	RejectAlways Outcome = "reject_always"
	Dismissed    Outcome = "cancelled"   // the question was closed without an answer
	Unavailable  Outcome = "unavailable" // nobody could be asked
)
