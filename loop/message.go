package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Role says whose message it is.
type Role string

// The roles of history. Results of tools come in messages of their own, right behind the calls they answer.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the history that a model is sent. A user message has Content; an assistant message has
// Content, Calls or both; a tool message has Results, one for each call of the message before it, in its order.
type Message struct {
	Role    Role     `json:"role"`
	ID      string   `json:"id,omitempty"`
	Content Blocks   `json:"content,omitempty"`
	Calls   []Call   `json:"calls,omitempty"`
	Results []Result `json:"results,omitempty"`
}

// Call is a tool call. ID is the loop's own name for it, unique in the session, and the one that goes back to every
// provider, whose own ids (Ref) may be missing or repeat. Args is a JSON object. Bad is not empty when what the model
// sent was no object: such a call is never run, and Args is {}.
type Call struct {
	ID   string          `json:"id,omitempty"`
	Ref  string          `json:"ref,omitempty"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	Bad  string          `json:"bad,omitempty"`
}

// NewCall makes a call from what a provider streamed. Arguments that are empty, blank or null mean {}; a JSON string
// that holds an object is taken as that object; anything else that is no object makes the call a bad one.
func NewCall(ref, tool, args string) Call {
	obj, bad := objectOf(args)
	return Call{Ref: ref, Tool: tool, Args: obj, Bad: bad}
}

func objectOf(args string) (json.RawMessage, string) {
	empty := json.RawMessage("{}")
	trimmed := strings.TrimSpace(args)
	if trimmed == "" || trimmed == "null" {
		return empty, ""
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(trimmed)); err != nil {
		return empty, fmt.Sprintf("the arguments are not valid JSON (%v); send one JSON object", err)
	}
	switch compact.Bytes()[0] {
	case '{':
		return compact.Bytes(), ""
	case '"':
		var inner string
		if json.Unmarshal(compact.Bytes(), &inner) == nil {
			if obj, bad := objectOf(inner); bad == "" {
				return obj, ""
			}
		}
		return empty, "the arguments must be a JSON object, not a string"
	case '[':
		return empty, "the arguments must be a JSON object, not an array"
	case 't', 'f':
		return empty, "the arguments must be a JSON object, not a boolean"
	}
	return empty, "the arguments must be a JSON object, not a number"
}

// Result is the outcome of a call. Content is for the model; Display, where it is not nil, is what clients show
// instead. Raw is the machine-readable outcome, if the tool has one.
type Result struct {
	CallID  string          `json:"call"`
	Content Blocks          `json:"content,omitempty"`
	Display Blocks          `json:"display,omitempty"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	Failed  bool            `json:"failed,omitempty"`
}

// Failed makes the result of a call that did not do what was asked. The text is for the model: it says what happened
// and what to do about it.
func Failed(callID, text string) Result {
	return Result{CallID: callID, Content: Blocks{Text{Text: text}}, Failed: true}
}

// Request is what a model is asked. Messages begin with a user message and are always well paired: each message with
// calls is followed by one with their results. Implementations must not change what it points at.
type Request struct {
	System   string    `json:"system,omitempty"`
	Tools    []Spec    `json:"tools,omitempty"`
	Messages []Message `json:"messages"`
	Trace    Trace     `json:"trace,omitempty"`
}

// Trace is the trace context that a prompt came with, by the names that W3C gives its parts: traceparent, tracestate and
// baggage. It goes on to providers and servers, and never into what a model reads.
type Trace map[string]string

// StopReason says why a turn, or a model's reply, ended. The values are those of ACP.
type StopReason string

// The stop reasons. A model's reply ends with StopEndTurn (also when it has calls), StopMaxTokens or StopRefusal.
const (
	StopEndTurn     StopReason = "end_turn"
	StopMaxTokens   StopReason = "max_tokens"
	StopMaxRequests StopReason = "max_turn_requests"
	StopRefusal     StopReason = "refusal"
	StopCancelled   StopReason = "cancelled"
)

// Usage counts the tokens of one model request. Input counts all that was sent, cached parts included.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// FailureKind sorts failures by what a caller can do about them.
type FailureKind string

// The kinds of failure.
const (
	FailAuth       FailureKind = "auth"        // no key, or a refused one
	FailLimit      FailureKind = "rate_limit"  // the provider wants fewer requests
	FailOverload   FailureKind = "overloaded"  // the provider has trouble of its own
	FailNetwork    FailureKind = "network"     // no connection, or a broken one
	FailRequest    FailureKind = "bad_request" // the provider refused this request
	FailTooLong    FailureKind = "too_long"    // the conversation no longer fits the window
	FailIncomplete FailureKind = "incomplete"  // the reply broke off
	FailInternal   FailureKind = "internal"    // a fault of ours
)

// Failure is an error that a person is told about: one sentence without secrets, paths or a stack.
type Failure struct {
	Kind    FailureKind `json:"kind"`
	Message string      `json:"message"`
}

// Error returns the sentence.
func (f *Failure) Error() string { return f.Message }
