package acp

import "encoding/json"

// PromptRequest starts a turn.
type PromptRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	Prompt    ContentBlocks              `json:"prompt"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// PromptResponse ends a turn. All its updates have been sent before.
type PromptResponse struct {
	StopReason StopReason                 `json:"stopReason"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// StopReason says why a turn ended. A reason this package does not know is kept as it came.
type StopReason string

// The reasons to stop.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// CancelNotification asks the agent to end a session's turn. The prompt is still answered, with [StopCancelled].
type CancelNotification struct {
	SessionID SessionID                  `json:"sessionId"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
