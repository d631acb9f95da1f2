package interop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var setupChecks = []wireCheck{
	{name: "initialize tells version, name and capabilities", run: func(w *world) {
		p := w.hello()
		assert.Equal(w.t, 1, p.info.ProtocolVersion)
		require.NotNil(w.t, p.info.AgentInfo)
		assert.NotEmpty(w.t, p.info.AgentInfo.Name)
		assert.NotEmpty(w.t, p.info.AgentInfo.Version)
	}},
	{name: "initialize without clientInfo and capabilities", run: func(w *world) {
		w.spawn(nil).do("initialize", object{"protocolVersion": 1}, nil)
	}},
	{name: "initialize with a version of the future gets ours", run: func(w *world) {
		p := w.spawn(nil)
		p.do("initialize", object{"protocolVersion": 99, "clientCapabilities": object{}}, &p.info)
		assert.Equal(w.t, 1, p.info.ProtocolVersion)
	}},
	{name: "initialize without a version is refused", run: func(w *world) {
		p := w.spawn(nil)
		p.fails("initialize", object{}, -32602)
		p.hello()
	}},
	{name: "initialize takes capabilities that nobody knows", run: func(w *world) {
		w.openWith(object{"subagents": object{}, "_meta": object{"terminal-auth": true}, "fs": object{"readTextFile": false}}).usable()
	}},
	{name: "before initialize nothing is done", run: func(w *world) {
		p := w.spawn(nil)
		p.fails("session/new", object{"cwd": w.cwd, "mcpServers": []any{}}, -32600)
		p.hello().open(w.cwd).usable()
	}},
	{name: "what is not advertised is refused", run: func(w *world) {
		s := w.open()
		caps := s.info.Capabilities
		for method, offered := range map[string]bool{
			"session/list": caps.Session["list"] != nil, "session/resume": caps.Session["resume"] != nil,
			"session/close": caps.Session["close"] != nil, "session/delete": caps.Session["delete"] != nil,
			"session/load": caps.LoadSession, "logout": caps.Auth["logout"] != nil,
			"session/set_mode": s.opened.Modes != nil, "session/set_config_option": s.opened.Options != nil,
			"session/fork": false,
		} {
			if !offered {
				s.fails(method, object{"sessionId": s.id, "cwd": w.cwd, "mcpServers": []any{}}, -32601)
			}
		}
	}},
	{name: "authentication: an agent method is there and works", run: func(w *world) {
		p := w.hello()
		if len(p.info.AuthMethods) == 0 {
			unoffered(w.t, "authMethods")
		}
		at := slices.IndexFunc(p.info.AuthMethods, func(m struct{ ID, Type, Name string }) bool { return m.Type == "" || m.Type == "agent" })
		require.GreaterOrEqual(w.t, at, 0, "no method of type agent among %v", p.info.AuthMethods)
		p.do("authenticate", object{"methodId": p.info.AuthMethods[at].ID}, nil)
		p.open(w.cwd).usable()
	}},
	{name: "authentication: a terminal method for who can run it", run: func(w *world) {
		terminal := func(caps object) bool {
			p := w.spawn(caps).hello()
			if len(p.info.AuthMethods) == 0 {
				unoffered(w.t, "authMethods")
			}
			return slices.ContainsFunc(p.info.AuthMethods, func(m struct{ ID, Type, Name string }) bool { return m.Type == "terminal" })
		}
		assert.False(w.t, terminal(object{}))
		assert.True(w.t, terminal(object{"auth": object{"terminal": true}}))
	}},
	{name: "authentication: an unknown method is refused", run: func(w *world) {
		w.hello().fails("authenticate", object{"methodId": "unheard-of"})
	}},
	{name: "authentication: logout", run: func(w *world) {
		p := w.hello()
		if p.info.Capabilities.Auth["logout"] == nil {
			unoffered(w.t, "auth.logout")
		}
		p.do("logout", object{}, nil)
		p.open(w.cwd).usable() // the offline model needs no key
	}},
	{name: "session/new refuses what is no session", run: func(w *world) {
		p := w.hello()
		for _, params := range []object{
			{"cwd": "here", "mcpServers": []any{}},
			{"cwd": nil, "mcpServers": []any{}},
			{"mcpServers": []any{}},
			{"cwd": 1, "mcpServers": []any{}},
			{"cwd": w.cwd, "mcpServers": "none"},
			{"cwd": w.cwd, "mcpServers": []any{object{"name": "half"}}},
		} {
			p.fails("session/new", params, -32602)
		}
		p.open(w.cwd).usable()
	}},
	{name: "session/new with servers left out or null", run: func(w *world) {
		p := w.hello()
		p.enter("session/new", object{"cwd": w.cwd}).usable()
		p.enter("session/new", object{"cwd": w.cwd, "mcpServers": nil}).usable()
	}},
	{name: "session/new with a server that is not there", run: func(w *world) {
		w.open(object{"name": "gone", "command": "/no/such/server", "args": []any{}, "env": []any{}}).usable()
	}},
	{name: "session/new with a server that cannot be reached", run: func(w *world) {
		w.open(object{"type": "http", "name": "far", "url": "http://127.0.0.1:1/mcp", "headers": []any{}}).usable()
	}},
	{name: "session/new with folders beside the working one", run: func(w *world) {
		p := w.hello()
		if p.info.Capabilities.Session["additionalDirectories"] == nil {
			unoffered(w.t, "additionalDirectories")
		}
		p.enter("session/new", object{"cwd": w.cwd, "mcpServers": []any{}, "additionalDirectories": []any{w.t.TempDir()}}).usable()
		p.fails("session/new", object{"cwd": w.cwd, "mcpServers": []any{}, "additionalDirectories": []any{"here"}}, -32602)
	}},
	{name: "MCP: a server is started with its environment and used", run: func(w *world) {
		s := w.open(probe(w, "nettle"))
		assert.Contains(w.t, textOf(s.prompt(askMenu)), "nettle soda $1.23")
	}},
	{name: "MCP: type stdio is taken too", run: func(w *world) {
		server := probe(w, "nettle")
		server["type"] = "stdio"
		assert.Contains(w.t, textOf(w.open(server).prompt(askMenu)), "nettle soda $1.23")
	}},
	{name: "commands are announced after the session", run: func(w *world) {
		s := w.open()
		s.usable()
		s.fence()
		var announced []string
		for _, n := range s.since(0, s.id) {
			if n.Update.Kind == "available_commands_update" {
				announced = n.commands()
			}
		}
		if announced == nil {
			unoffered(w.t, "commands")
		}
		for _, name := range []string{"help", "context", "mcp", "permissions", "compact"} {
			assert.Contains(w.t, announced, name)
		}
		assert.False(w.t, slices.ContainsFunc(announced, func(name string) bool { return strings.HasPrefix(name, "/") }))
	}},
	{name: "_meta and trace context are taken", run: func(w *world) {
		p := w.hello()
		trace := object{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "dev.example/x": []any{1, nil}}
		s := p.enter("session/new", object{"cwd": w.cwd, "mcpServers": []any{}, "_meta": trace})
		s.do("session/prompt", object{"sessionId": s.id, "prompt": []any{object{"type": "text", "text": askPrice, "_meta": nil}}, "_meta": trace}, nil)
	}},
}

var framingChecks = []wireCheck{
	{name: "ids: strings, zero, negative", run: func(w *world) {
		p := w.spawn(nil)
		for _, id := range []string{`"a-b"`, "0", "-3", "9007199254740993", `""`} {
			p.expect(id)
			p.raw(`{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
			require.Nil(w.t, p.answer(id).Error)
		}
	}},
	{name: "an unknown method", run: func(w *world) { w.hello().fails("session/unheard_of", object{}, -32601) }},
	{name: "a request of somebody's own", run: func(w *world) { w.hello().fails("_interop/hello", object{"a": 1}, -32601) }},
	{name: "unknown notifications", run: func(w *world) {
		s := w.open()
		for _, method := range []string{"session/unheard_of", "_interop/hello", "$/unheard_of"} {
			s.notify(method, object{})
		}
		s.usable()
	}},
	{name: "lines that are no messages", run: func(w *world) {
		s := w.open()
		for line, code := range map[string]int{
			"{not JSON": -32700, `[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`: -32600, `{}`: -32600, `"text"`: -32600,
		} {
			s.mu.Lock()
			n := len(s.strays)
			s.mu.Unlock()
			s.raw(line + "\n")
			s.until("an answer to "+line, func() bool { return len(s.strays) > n })
			s.mu.Lock()
			assert.Equal(w.t, code, s.strays[n].Error.Code, line)
			s.mu.Unlock()
		}
		s.usable()
	}},
	{name: "blank lines and CRLF", run: func(w *world) {
		p := w.spawn(nil)
		p.expect("7")
		p.raw("\n\r\n" + `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}` + "\r\n")
		require.Nil(w.t, p.answer("7").Error)
	}},
	{name: "a last line without its end", run: func(w *world) {
		p := w.spawn(nil)
		p.expect("7")
		p.raw(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}`)
		require.NoError(w.t, p.in.Close())
		require.Nil(w.t, p.answer("7").Error)
	}},
	{name: "a line that comes in pieces", run: func(w *world) {
		p := w.spawn(nil)
		p.expect("7")
		for _, piece := range strings.SplitAfter(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}`+"\n", ",") {
			p.raw(piece)
		}
		require.Nil(w.t, p.answer("7").Error)
	}},
}

// expect says that an initialize with this id is sent by hand.
func (p *peer) expect(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.methods[id] = "initialize"
}

// commands gives the names of an available_commands_update.
func (n note) commands() []string {
	var out []string
	for _, c := range n.Update.Commands {
		out = append(out, c.Name)
	}
	return out
}

// decode is json.Unmarshal for what must fit.
func decode[T any](w *world, raw json.RawMessage) T {
	w.t.Helper()
	var v T
	require.NoError(w.t, json.Unmarshal(raw, &v))
	return v
}
