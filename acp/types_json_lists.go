package acp

// These methods make encoding/json write and read lists and unknown variants the way this package does.

// MarshalJSON implements [encoding/json.Marshaler].
func (a AuthMethods) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AuthMethods) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (m MCPServers) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *MCPServers) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionConfigOptions) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionConfigOptions) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c ContentBlocks) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *ContentBlocks) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t ToolCallContents) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *ToolCallContents) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (u UngroupedOptions) MarshalJSON() ([]byte, error) { return marshal(u) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (u *UngroupedOptions) UnmarshalJSON(b []byte) error { return unmarshal(b, u) }

// MarshalJSON implements [encoding/json.Marshaler].
func (g GroupedOptions) MarshalJSON() ([]byte, error) { return marshal(g) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (g *GroupedOptions) UnmarshalJSON(b []byte) error { return unmarshal(b, g) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawAuthMethod) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawAuthMethod) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawSessionConfigOption) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawSessionConfigOption) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawContent) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawContent) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawElicitationMode) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawElicitationMode) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawElicitationAction) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawElicitationAction) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawPropertySchema) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawPropertySchema) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawMultiSelectItems) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawMultiSelectItems) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawMCPServer) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawMCPServer) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawPermissionOutcome) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawPermissionOutcome) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawToolCallContent) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawToolCallContent) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawUpdate) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawUpdate) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }
