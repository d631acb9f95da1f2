package acp

import "encoding/json"

// CreateElicitationRequest asks the person something, by a form or at a URL. Mode and Scope are both required; on
// the wire their fields stand beside Message.
type CreateElicitationRequest struct {
	Message string                     `json:"message"`
	Mode    ElicitationMode            `json:"-" acp:"flat"`
	Scope   ElicitationScope           `json:"-" acp:"flat"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ElicitationMode is how to ask: [ElicitationFormMode], [ElicitationURLMode] or [RawElicitationMode].
//
//sumtype:decl
type ElicitationMode interface{ elicitationMode() }

// ElicitationFormMode asks by a form. It needs [ElicitationFormCapabilities]; never ask for a secret with it.
type ElicitationFormMode struct {
	RequestedSchema ElicitationSchema `json:"requestedSchema"`
}

// ElicitationURLMode sends the person to a URL. It needs [ElicitationURLCapabilities].
type ElicitationURLMode struct {
	ElicitationID ElicitationID `json:"elicitationId"`
	URL           string        `json:"url"`
}

// RawElicitationMode is a way to ask this package does not know. Raw is the whole of the params it came in.
type RawElicitationMode struct {
	Mode string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (ElicitationFormMode) elicitationMode() {}
func (ElicitationURLMode) elicitationMode()  {}
func (RawElicitationMode) elicitationMode()  {}

// ElicitationScope is what a question belongs to: [ElicitationSessionScope] or [ElicitationRequestScope].
//
//sumtype:decl
type ElicitationScope interface{ elicitationScope() }

// ElicitationSessionScope ties a question to a session and, if set, to a tool call of it.
type ElicitationSessionScope struct {
	SessionID  SessionID   `json:"sessionId"`
	ToolCallID *ToolCallID `json:"toolCallId,omitzero" acp:"lenient"`
}

// ElicitationRequestScope ties a question to a request outside of a session, such as authenticate.
type ElicitationRequestScope struct {
	RequestID RequestID `json:"requestId"`
}

func (ElicitationSessionScope) elicitationScope() {}
func (ElicitationRequestScope) elicitationScope() {}

// CreateElicitationResponse says what the person did. On the wire the fields of Action stand beside _meta.
type CreateElicitationResponse struct {
	Action ElicitationAction          `json:"-" acp:"flat"`
	Meta   map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ElicitationAction is what the person did: [ElicitationAcceptAction], [ElicitationDeclineAction],
// [ElicitationCancelAction] or [RawElicitationAction].
//
//sumtype:decl
type ElicitationAction interface{ elicitationAction() }

// ElicitationAcceptAction says that the person answered. Content holds the values of a form by their names.
type ElicitationAcceptAction struct {
	Content map[string]ElicitationContentValue `json:"content,omitzero"`
}

// ElicitationDeclineAction says that the person refused to answer.
type ElicitationDeclineAction struct{}

// ElicitationCancelAction says that the person went away without a choice.
type ElicitationCancelAction struct{}

// RawElicitationAction is an action this package does not know. It is never an answer.
type RawElicitationAction struct {
	Action string          `json:"-"`
	Raw    json.RawMessage `json:"-"`
}

func (ElicitationAcceptAction) elicitationAction()  {}
func (ElicitationDeclineAction) elicitationAction() {}
func (ElicitationCancelAction) elicitationAction()  {}
func (RawElicitationAction) elicitationAction()     {}

// ElicitationContentValue is a value from a form: [StringContent], [IntegerContent], [NumberContent],
// [BooleanContent] or [StringArrayContent].
//
//sumtype:decl
type ElicitationContentValue interface{ elicitationContentValue() }

// The values a form can give.
type (
	// StringContent is text, or the value of a single choice.
	StringContent string
	// IntegerContent is a whole number.
	IntegerContent int64
	// NumberContent is a number that is not whole, or too large to be an [IntegerContent].
	NumberContent float64
	// BooleanContent is a yes or no.
	BooleanContent bool
	// StringArrayContent is what was chosen of many.
	StringArrayContent []string
)

func (StringContent) elicitationContentValue()      {}
func (IntegerContent) elicitationContentValue()     {}
func (NumberContent) elicitationContentValue()      {}
func (BooleanContent) elicitationContentValue()     {}
func (StringArrayContent) elicitationContentValue() {}

// CompleteElicitationNotification says that what the person did at a URL is done.
type CompleteElicitationNotification struct {
	ElicitationID ElicitationID              `json:"elicitationId"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
