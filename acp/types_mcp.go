package acp

import "encoding/json"

// MCPServer says how to reach an MCP server: [MCPServerStdio], [MCPServerHTTP], [MCPServerSSE] or [RawMCPServer].
//
//sumtype:decl
type MCPServer interface{ mcpServer() }

// MCPServers is a list of MCP servers.
type MCPServers []MCPServer

// MCPServerStdio is a program to start, spoken to on its stdin and stdout. It has no type on the wire; "stdio" is
// accepted as one.
type MCPServerStdio struct {
	Name    string                     `json:"name"`
	Command string                     `json:"command"`
	Args    []string                   `json:"args" acp:"null"`
	Env     []EnvVariable              `json:"env" acp:"null"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// MCPServerHTTP is a server reached by streamable HTTP.
type MCPServerHTTP struct {
	Name    string                     `json:"name"`
	URL     string                     `json:"url"`
	Headers []HTTPHeader               `json:"headers" acp:"null"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// MCPServerSSE is a server reached by HTTP with server-sent events, the older way.
type MCPServerSSE struct {
	Name    string                     `json:"name"`
	URL     string                     `json:"url"`
	Headers []HTTPHeader               `json:"headers" acp:"null"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawMCPServer is a server of a type this package does not know.
type RawMCPServer struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (MCPServerStdio) mcpServer() {}
func (MCPServerHTTP) mcpServer()  {}
func (MCPServerSSE) mcpServer()   {}
func (RawMCPServer) mcpServer()   {}

// EnvVariable is a variable of a program's environment.
type EnvVariable struct {
	Name  string                     `json:"name"`
	Value string                     `json:"value"`
	Meta  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// HTTPHeader is a header to send with each request.
type HTTPHeader struct {
	Name  string                     `json:"name"`
	Value string                     `json:"value"`
	Meta  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
