package acp

// These methods make encoding/json write and read the parts of messages the way this package does.

// MarshalJSON implements [encoding/json.Marshaler].
func (a AuthMethodAgent) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AuthMethodAgent) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AuthMethodTerminal) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AuthMethodTerminal) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t TerminalExitStatus) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *TerminalExitStatus) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionConfigSelect) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionConfigSelect) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionConfigBoolean) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionConfigBoolean) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionConfigSelectOption) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionConfigSelectOption) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionConfigSelectGroup) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionConfigSelectGroup) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SelectValue) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SelectValue) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v BooleanValue) MarshalJSON() ([]byte, error) { return marshal(v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *BooleanValue) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t TextContent) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *TextContent) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (i ImageContent) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (i *ImageContent) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AudioContent) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AudioContent) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ResourceLink) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ResourceLink) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e EmbeddedResource) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *EmbeddedResource) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t TextResourceContents) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *TextResourceContents) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v BlobResourceContents) MarshalJSON() ([]byte, error) { return marshal(v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *BlobResourceContents) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a Annotations) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *Annotations) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationFormMode) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationFormMode) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationURLMode) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationURLMode) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationSessionScope) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationSessionScope) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationRequestScope) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationRequestScope) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationAcceptAction) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationAcceptAction) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationDeclineAction) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationDeclineAction) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationCancelAction) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationCancelAction) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationSchema) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationSchema) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s StringPropertySchema) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *StringPropertySchema) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n NumberPropertySchema) MarshalJSON() ([]byte, error) { return marshal(n) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (n *NumberPropertySchema) UnmarshalJSON(b []byte) error { return unmarshal(b, n) }

// MarshalJSON implements [encoding/json.Marshaler].
func (i IntegerPropertySchema) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (i *IntegerPropertySchema) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v BooleanPropertySchema) MarshalJSON() ([]byte, error) { return marshal(v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *BooleanPropertySchema) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (m MultiSelectPropertySchema) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *MultiSelectPropertySchema) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e EnumOption) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *EnumOption) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s StringMultiSelectItems) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *StringMultiSelectItems) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t TitledMultiSelectItems) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *TitledMultiSelectItems) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (i Implementation) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (i *Implementation) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

// MarshalJSON implements [encoding/json.Marshaler].
func (m MCPServerStdio) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *MCPServerStdio) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

// MarshalJSON implements [encoding/json.Marshaler].
func (m MCPServerHTTP) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *MCPServerHTTP) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

// MarshalJSON implements [encoding/json.Marshaler].
func (m MCPServerSSE) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *MCPServerSSE) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e EnvVariable) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *EnvVariable) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (h HTTPHeader) MarshalJSON() ([]byte, error) { return marshal(h) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (h *HTTPHeader) UnmarshalJSON(b []byte) error { return unmarshal(b, h) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p PermissionOption) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *PermissionOption) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s Selected) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *Selected) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c Cancelled) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *Cancelled) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p PlanEntry) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *PlanEntry) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AvailableCommand) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AvailableCommand) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (u UnstructuredCommandInput) MarshalJSON() ([]byte, error) { return marshal(u) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (u *UnstructuredCommandInput) UnmarshalJSON(b []byte) error { return unmarshal(b, u) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c Cost) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *Cost) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionInfo) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionInfo) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionModeState) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionModeState) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionMode) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionMode) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t ToolCall) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *ToolCall) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t ToolCallUpdate) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *ToolCallUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t ToolCallLocation) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *ToolCallLocation) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c ContentItem) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *ContentItem) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (d Diff) MarshalJSON() ([]byte, error) { return marshal(d) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (d *Diff) UnmarshalJSON(b []byte) error { return unmarshal(b, d) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t Terminal) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *Terminal) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (u UserMessageChunk) MarshalJSON() ([]byte, error) { return marshal(u) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (u *UserMessageChunk) UnmarshalJSON(b []byte) error { return unmarshal(b, u) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AgentMessageChunk) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AgentMessageChunk) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AgentThoughtChunk) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AgentThoughtChunk) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p Plan) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *Plan) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AvailableCommandsUpdate) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AvailableCommandsUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CurrentModeUpdate) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CurrentModeUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c ConfigOptionUpdate) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *ConfigOptionUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionInfoUpdate) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionInfoUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (u UsageUpdate) MarshalJSON() ([]byte, error) { return marshal(u) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (u *UsageUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, u) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n Notice) MarshalJSON() ([]byte, error) { return marshal(n) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (n *Notice) UnmarshalJSON(b []byte) error { return unmarshal(b, n) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CompactionUpdate) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CompactionUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CompactionSummaryChunk) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CompactionSummaryChunk) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }
