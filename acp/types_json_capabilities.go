package acp

// These methods make encoding/json write and read capabilities the way this package does.

// MarshalJSON implements [encoding/json.Marshaler].
func (c ClientCapabilities) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *ClientCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (f FileSystemCapabilities) MarshalJSON() ([]byte, error) { return marshal(f) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (f *FileSystemCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, f) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c ClientSessionCapabilities) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *ClientSessionCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CompactionCapabilities) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CompactionCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n NoticeCapabilities) MarshalJSON() ([]byte, error) { return marshal(n) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (n *NoticeCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, n) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionConfigOptionsCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionConfigOptionsCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v BooleanConfigOptionCapabilities) MarshalJSON() ([]byte, error) { return marshal(v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *BooleanConfigOptionCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AuthCapabilities) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AuthCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationCapabilities) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationFormCapabilities) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationFormCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (e ElicitationURLCapabilities) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (e *ElicitationURLCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, e) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AgentCapabilities) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AgentCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p PromptCapabilities) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *PromptCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (m MCPCapabilities) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *MCPCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionListCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionListCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionDeleteCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionDeleteCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionAdditionalDirectoriesCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionAdditionalDirectoriesCapabilities) UnmarshalJSON(b []byte) error {
	return unmarshal(b, s)
}

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionResumeCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionResumeCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionCloseCapabilities) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionCloseCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AgentAuthCapabilities) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AgentAuthCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l LogoutCapabilities) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *LogoutCapabilities) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }
