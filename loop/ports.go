package loop

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is a language model, or something that behaves like one.
type Model interface {
	// Stream asks the model and yields what comes back: text and thoughts as they arrive, and last one chunk with
	// the whole reply. After an error it yields nothing more; a *Failure says what went wrong in words. When the
	// consumer stops, or ctx ends, the request is given up at once. It must not panic on what a peer sends.
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// ChunkKind says what a chunk holds.
type ChunkKind string

// The kinds of chunk.
const (
	ChunkText    ChunkKind = "text"
	ChunkThought ChunkKind = "thought"
	ChunkReply   ChunkKind = "reply"
)

// Chunk is one step of a model's stream: text, a thought, or at the end the reply.
type Chunk struct {
	Kind  ChunkKind
	Text  string
	Reply *Reply // only with ChunkReply
}

// Reply is a model's whole answer: a message of RoleAssistant whose text is what the chunks added up to.
type Reply struct {
	Message Message
	Stop    StopReason
	Usage   Usage
}

// Kind is the kind of a tool, by ACP's names. Clients choose an icon by it.
type Kind string

// The kinds of tool.
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindDelete  Kind = "delete"
	KindMove    Kind = "move"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

// Spec describes a tool to models and to the loop.
type Spec struct {
	Name        string          `json:"name"`            // matches ^[A-Za-z0-9_-]{1,64}$, unique among the session's tools
	Title       string          `json:"title,omitempty"` // for people; the name when empty
	Description string          `json:"description"`     // for the model
	Schema      json.RawMessage `json:"schema"`          // JSON Schema of the arguments, an object
	Kind        Kind            `json:"kind,omitempty"`
	// ReadOnly says that running it twice does no more than running it once, and changes nothing.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Parallel lets it run beside other parallel calls of the same reply.
	Parallel bool `json:"parallel,omitempty"`
	// Keyed says that it honours Job.Key: the same key is the same act, however often it is sent.
	Keyed bool `json:"keyed,omitempty"`
	// Default applies where no rule matches. The zero value is Ask.
	Default Verdict `json:"default,omitzero"`
	// Fingerprint is zero for tools that are the same wherever this program is. Others can be changed by who has them.
	Fingerprint Fingerprint `json:"fingerprint,omitzero"`
}

// Location is a place in a file that a call touches. Path is absolute, Line 1-based and zero when there is none.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Subject is one thing that rules judge: a simple command's words, or one path. Also holds other readings of the same
// thing (without a wrapper such as env, by the bare name of a program): rules that ask or deny see them, rules that
// allow do not.
type Subject struct {
	Words []string   `json:"words"`
	Also  [][]string `json:"also,omitempty"`
}

// Digest is the SHA-256 of a file as it was when the call was previewed, hex; empty when there was no file.
type Digest struct {
	Path string `json:"path"`
	Sum  string `json:"sum,omitempty"`
}

// Preview says what a call would do, before it is allowed to.
type Preview struct {
	Title     string     `json:"title,omitempty"` // one line; for an execute tool the command itself
	Locations []Location `json:"locations,omitempty"`
	Subjects  []Subject  `json:"subjects,omitempty"`
	Display   Blocks     `json:"display,omitempty"` // a diff, for example
	Digests   []Digest   `json:"digests,omitempty"`
	// Caution, where it is not empty, says why no rule can allow the call: a person is asked.
	Caution string `json:"caution,omitempty"`
}

// Job is a call that may run. Key is the same whenever the same call is sent again. Answers are those that the call
// has asked for so far (see NeedsAnswer).
type Job struct {
	Call    Call     `json:"call"`
	Preview Preview  `json:"preview"`
	Key     string   `json:"key,omitempty"`
	Answers []Answer `json:"answers,omitempty"`
	Trace   Trace    `json:"trace,omitempty"`
}

// Tool is something a model may call. Its methods may be called from any goroutine.
type Tool interface {
	Spec() Spec
	// Preview checks the arguments and says what the call would touch. It may read, never write. Its error is for
	// the model and settles the call as failed.
	Preview(ctx context.Context, c Call) (Preview, error)
	// Run does what the preview showed, or refuses if that has changed. report shows progress and returns when the client has been told. Its
	// error is for the model and never ends the turn; a *NeedsAnswer asks the person, and Run is called again with
	// the answer. It returns soon after ctx ends.
	Run(ctx context.Context, j Job, report func(Block)) (Result, error)
}

// Finding is what a look at the world says about a call that was running when its turn was interrupted.
type Finding string

// The findings. Whatever else is found is as good as FoundUnknown.
const (
	FoundDone    Finding = "done"    // it took effect, in whole
	FoundUndone  Finding = "undone"  // it had no effect: what it was allowed to do is still to be done
	FoundUnknown Finding = "unknown" // neither can be said
)

// Checker is a Tool that can tell afterwards whether a call of it took effect.
type Checker interface {
	Tool
	// Check looks what has become of a call that was running when its turn was interrupted, and changes nothing but that
	// it may take away what that call itself has left half done. With FoundDone comes the call's result. An error is as good as FoundUnknown. It returns soon after ctx ends.
	Check(ctx context.Context, j Job) (Finding, Result, error)
}

// Question is what a tool wants to know from the person: a form (Schema) or a page to open (URL). State is the tool's
// own and comes back verbatim with the answer.
type Question struct {
	ID      string          `json:"id"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	URL     string          `json:"url,omitempty"`
	// Fleeting says that the one who asks does not outlast this process: an answer that comes later is of no use.
	Fleeting bool            `json:"fleeting,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
}

// AnswerAction is what the person did with a question.
type AnswerAction string

// The answers, by the names that ACP and MCP share.
const (
	AnswerAccept  AnswerAction = "accept"
	AnswerDecline AnswerAction = "decline"
	AnswerCancel  AnswerAction = "cancel"
)

// Answer is the answer to the question of the same ID.
type Answer struct {
	ID      string          `json:"id"`
	Action  AnswerAction    `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
}

// NeedsAnswer is the error by which Tool.Run asks the person something.
type NeedsAnswer struct{ Question Question }

// Error returns the question's text.
func (n *NeedsAnswer) Error() string { return "the tool asks: " + n.Question.Message }

// Gate asks the person whether a call may run.
type Gate interface {
	// Ask blocks until there is an answer or ctx ends. Its error is a refusal, never an approval; ErrGone leaves the
	// question open.
	Ask(ctx context.Context, c Call, p Preview, opts []Option) (Outcome, error)
}

// Asker puts a tool's question to the person.
type Asker interface {
	// AskForm blocks until there is an answer or ctx ends. Its error settles the call as failed, and its text tells
	// the model what to do instead; ErrGone leaves the question open.
	AskForm(ctx context.Context, c Call, q Question) (Answer, error)
}

// Log keeps the inputs of a session.
type Log interface {
	// Append adds inputs at the end, in order, and returns when a crash of this process can no longer lose them.
	Append(in ...Input) error
	// Sync returns when a crash of the machine can no longer lose what was appended.
	Sync() error
}

// Sink takes the next event. It may block; its error ends the turn.
type Sink func(context.Context, Event) error
