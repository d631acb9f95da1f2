package acp

import "encoding/json"

// ReadTextFileRequest asks the client for a text file, or for Limit lines of it from Line on, which counts from 1.
type ReadTextFileRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	Path      string                     `json:"path" acp:"abs"`
	Line      *uint32                    `json:"line,omitzero"`
	Limit     *uint32                    `json:"limit,omitzero"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ReadTextFileResponse holds the text asked for.
type ReadTextFileResponse struct {
	Content string                     `json:"content"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// WriteTextFileRequest asks the client to write a text file.
type WriteTextFileRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	Path      string                     `json:"path" acp:"abs"`
	Content   string                     `json:"content"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// WriteTextFileResponse says that the file is written.
type WriteTextFileResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CreateTerminalRequest asks the client to run a command in a terminal. Cwd, if set, is absolute. At most
// OutputByteLimit bytes of output are kept, the last ones.
type CreateTerminalRequest struct {
	SessionID       SessionID                  `json:"sessionId"`
	Command         string                     `json:"command"`
	Args            []string                   `json:"args,omitzero" acp:"null"`
	Env             []EnvVariable              `json:"env,omitzero" acp:"null"`
	Cwd             string                     `json:"cwd,omitzero" acp:"abs"`
	OutputByteLimit *uint64                    `json:"outputByteLimit,omitzero"`
	Meta            map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CreateTerminalResponse names the terminal; the command may still be running. It must be released.
type CreateTerminalResponse struct {
	TerminalID TerminalID                 `json:"terminalId"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// TerminalOutputRequest asks for the output so far.
type TerminalOutputRequest struct {
	SessionID  SessionID                  `json:"sessionId"`
	TerminalID TerminalID                 `json:"terminalId"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// TerminalOutputResponse holds the output so far. ExitStatus is nil while the command runs.
type TerminalOutputResponse struct {
	Output     string                     `json:"output"`
	Truncated  bool                       `json:"truncated"`
	ExitStatus *TerminalExitStatus        `json:"exitStatus,omitzero" acp:"lenient"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// TerminalExitStatus says how a command ended: by an exit code or by a signal.
type TerminalExitStatus struct {
	ExitCode *uint32                    `json:"exitCode,omitzero" acp:"lenient"`
	Signal   *string                    `json:"signal,omitzero" acp:"lenient"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// WaitForTerminalExitRequest waits for the command to end.
type WaitForTerminalExitRequest struct {
	SessionID  SessionID                  `json:"sessionId"`
	TerminalID TerminalID                 `json:"terminalId"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// WaitForTerminalExitResponse says how the command ended: by an exit code or by a signal.
type WaitForTerminalExitResponse struct {
	ExitCode *uint32                    `json:"exitCode,omitzero" acp:"lenient"`
	Signal   *string                    `json:"signal,omitzero" acp:"lenient"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// KillTerminalRequest ends the command; the terminal and its output stay.
type KillTerminalRequest struct {
	SessionID  SessionID                  `json:"sessionId"`
	TerminalID TerminalID                 `json:"terminalId"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// KillTerminalResponse says that the command was ended.
type KillTerminalResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ReleaseTerminalRequest ends the command and frees the terminal.
type ReleaseTerminalRequest struct {
	SessionID  SessionID                  `json:"sessionId"`
	TerminalID TerminalID                 `json:"terminalId"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ReleaseTerminalResponse says that the terminal is freed.
type ReleaseTerminalResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
