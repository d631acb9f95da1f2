package acp

// These methods make encoding/json write and read messages the way this package does.

// MarshalJSON implements [encoding/json.Marshaler].
func (a AuthenticateRequest) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AuthenticateRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (a AuthenticateResponse) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *AuthenticateResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l LogoutRequest) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *LogoutRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l LogoutResponse) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *LogoutResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CancelRequestNotification) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CancelRequestNotification) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ReadTextFileRequest) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ReadTextFileRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ReadTextFileResponse) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ReadTextFileResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (w WriteTextFileRequest) MarshalJSON() ([]byte, error) { return marshal(w) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (w *WriteTextFileRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, w) }

// MarshalJSON implements [encoding/json.Marshaler].
func (w WriteTextFileResponse) MarshalJSON() ([]byte, error) { return marshal(w) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (w *WriteTextFileResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, w) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CreateTerminalRequest) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CreateTerminalRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CreateTerminalResponse) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CreateTerminalResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t TerminalOutputRequest) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *TerminalOutputRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (t TerminalOutputResponse) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *TerminalOutputResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, t) }

// MarshalJSON implements [encoding/json.Marshaler].
func (w WaitForTerminalExitRequest) MarshalJSON() ([]byte, error) { return marshal(w) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (w *WaitForTerminalExitRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, w) }

// MarshalJSON implements [encoding/json.Marshaler].
func (w WaitForTerminalExitResponse) MarshalJSON() ([]byte, error) { return marshal(w) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (w *WaitForTerminalExitResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, w) }

// MarshalJSON implements [encoding/json.Marshaler].
func (k KillTerminalRequest) MarshalJSON() ([]byte, error) { return marshal(k) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (k *KillTerminalRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, k) }

// MarshalJSON implements [encoding/json.Marshaler].
func (k KillTerminalResponse) MarshalJSON() ([]byte, error) { return marshal(k) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (k *KillTerminalResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, k) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ReleaseTerminalRequest) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ReleaseTerminalRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ReleaseTerminalResponse) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ReleaseTerminalResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SetSessionConfigOptionRequest) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SetSessionConfigOptionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SetSessionConfigOptionResponse) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SetSessionConfigOptionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CreateElicitationRequest) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CreateElicitationRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CreateElicitationResponse) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CreateElicitationResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CompleteElicitationNotification) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CompleteElicitationNotification) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (i InitializeRequest) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (i *InitializeRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

// MarshalJSON implements [encoding/json.Marshaler].
func (i InitializeResponse) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (i *InitializeResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RequestPermissionRequest) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RequestPermissionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RequestPermissionResponse) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RequestPermissionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p PromptRequest) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *PromptRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p PromptResponse) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *PromptResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CancelNotification) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CancelNotification) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n NewSessionRequest) MarshalJSON() ([]byte, error) { return marshal(n) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (n *NewSessionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, n) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n NewSessionResponse) MarshalJSON() ([]byte, error) { return marshal(n) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (n *NewSessionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, n) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l LoadSessionRequest) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *LoadSessionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l LoadSessionResponse) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *LoadSessionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ResumeSessionRequest) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ResumeSessionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r ResumeSessionResponse) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *ResumeSessionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l ListSessionsRequest) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *ListSessionsRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l ListSessionsResponse) MarshalJSON() ([]byte, error) { return marshal(l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *ListSessionsResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (d DeleteSessionRequest) MarshalJSON() ([]byte, error) { return marshal(d) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (d *DeleteSessionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, d) }

// MarshalJSON implements [encoding/json.Marshaler].
func (d DeleteSessionResponse) MarshalJSON() ([]byte, error) { return marshal(d) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (d *DeleteSessionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, d) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CloseSessionRequest) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CloseSessionRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (c CloseSessionResponse) MarshalJSON() ([]byte, error) { return marshal(c) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (c *CloseSessionResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SetSessionModeRequest) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SetSessionModeRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SetSessionModeResponse) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SetSessionModeResponse) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s SessionNotification) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *SessionNotification) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }
