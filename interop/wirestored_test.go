package interop

import (
	"slices"
	"syscall"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var settingChecks = []wireCheck{
	{name: "modes: set, announced, kept to", run: func(w *world) {
		s := w.open()
		if s.opened.Modes == nil {
			unoffered(w.t, "modes")
		}
		var ids []string
		for _, m := range s.opened.Modes.Available {
			ids = append(ids, m.ID)
		}
		assert.Equal(w.t, []string{"ask", "accept-edits", "plan"}, ids) // bypass is for who starts the agent to allow
		assert.Equal(w.t, "ask", s.opened.Modes.Current)
		s.do("session/set_mode", object{"sessionId": s.id, "modeId": "plan"}, nil)
		s.until("the new mode", func() bool {
			return slices.ContainsFunc(s.notes, func(n note) bool { return n.Update.Kind == "current_mode_update" && n.Update.Mode == "plan" })
		})
		assert.NotContains(w.t, textOf(s.prompt(askOrder)), "is placed")
		assert.Empty(w.t, s.requests())
		for _, mode := range []any{"unheard-of", "bypass", "", 1} {
			s.fails("session/set_mode", object{"sessionId": s.id, "modeId": mode})
		}
		s.fails("session/set_mode", object{"sessionId": "sess_unheard", "modeId": "ask"}, -32002)
	}},
	{name: "options: set, the whole list back, in step with the mode", run: func(w *world) {
		s := w.open()
		if s.opened.Options == nil {
			unoffered(w.t, "configOptions")
		}
		for _, o := range s.opened.Options {
			require.NotEqual(w.t, "boolean", o.Type, "the client does not take booleans")
			assert.Contains(w.t, o.values(), o.Current, "option %s has a value that it does not offer", o.ID)
		}
		for _, id := range []string{"mode", "model"} {
			o := find(s.opened.Options, id)
			require.Equal(w.t, id, o.ID)
			assert.Equal(w.t, id, o.Category)
		}
		var now settings
		s.do("session/set_config_option", object{"sessionId": s.id, "configId": "mode", "value": "plan"}, &now)
		assert.Len(w.t, now.Options, len(s.opened.Options))
		assert.Equal(w.t, "plan", find(now.Options, "mode").Current)
		s.until("the new mode, both ways", func() bool {
			kinds := map[string]bool{}
			for _, n := range s.notes {
				kinds[n.Update.Kind] = kinds[n.Update.Kind] || n.Update.Mode == "plan" || find(n.Update.Options, "mode").Current == "plan"
			}
			return kinds["current_mode_update"] && kinds["config_option_update"]
		})
		s.fails("session/set_config_option", object{"sessionId": s.id, "configId": "mode", "value": "unheard-of"})
		s.fails("session/set_config_option", object{"sessionId": s.id, "configId": "unheard-of", "value": "plan"})
		s.fails("session/set_config_option", object{"sessionId": s.id, "configId": "mode", "type": "boolean", "value": true})
	}},
	{name: "options: booleans for who takes them", run: func(w *world) {
		s := w.openWith(object{"session": object{"configOptions": object{"boolean": object{}}}})
		at := slices.IndexFunc(s.opened.Options, func(o option) bool { return o.Type == "boolean" })
		if at < 0 {
			unoffered(w.t, "a boolean option")
		}
		o := s.opened.Options[at]
		var now settings
		s.do("session/set_config_option", object{"sessionId": s.id, "configId": o.ID, "type": "boolean", "value": o.Current != true}, &now)
		assert.Equal(w.t, o.Current != true, find(now.Options, o.ID).Current)
	}},
	{name: "settings stay with the session", run: func(w *world) {
		s := w.open()
		if s.opened.Modes == nil || !s.info.Capabilities.LoadSession {
			unoffered(w.t, "modes and session/load")
		}
		s.usable()
		s.do("session/set_mode", object{"sessionId": s.id, "modeId": "plan"}, nil)
		again := s.restored(w, "session/load")
		require.NotNil(w.t, again.opened.Modes)
		assert.Equal(w.t, "plan", again.opened.Modes.Current)
		assert.Equal(w.t, "plan", find(again.opened.Options, "mode").Current)
	}},
}

// listed is a page of session/list.
type listed struct {
	Sessions []struct{ SessionID, CWD, Title, UpdatedAt string } `json:"sessions"`
	Next     string                                              `json:"nextCursor"`
}

// list follows the cursor to its end.
func (p *peer) list(params object) []string {
	p.t.Helper()
	var ids []string
	last := ""
	for {
		var page listed
		p.do("session/list", params, &page)
		for _, s := range page.Sessions {
			if last != "" {
				assert.LessOrEqual(p.t, s.UpdatedAt, last, "not newest first")
			}
			last = s.UpdatedAt
			ids = append(ids, s.SessionID)
		}
		if page.Next == "" {
			return ids
		}
		params["cursor"] = page.Next
	}
}

func (w *world) must(offered bool, what string) {
	w.t.Helper()
	if !offered {
		unoffered(w.t, what)
	}
}

// offers is whether a session method is advertised.
func (p *peer) offers(method string) bool { return p.info.Capabilities.Session[method] != nil }

var storedChecks = []wireCheck{
	{name: "list: ours, by folder, newest first", run: func(w *world) {
		a := w.open()
		w.must(a.offers("list"), "session/list")
		a.usable()
		b := a.open(w.cwd)
		b.usable()
		elsewhere := a.open(w.t.TempDir())
		elsewhere.usable()
		assert.Equal(w.t, []string{b.id, a.id}, a.list(object{"cwd": w.cwd}))
		assert.ElementsMatch(w.t, []string{elsewhere.id, b.id, a.id}, a.list(object{}))
		assert.Empty(w.t, a.list(object{"cwd": "/no/such/folder"}))
		var page listed
		a.do("session/list", object{"cwd": w.cwd}, &page)
		for _, s := range page.Sessions {
			assert.Equal(w.t, w.cwd, s.CWD)
			assert.NotEmpty(w.t, s.Title)
			_, err := time.Parse(time.RFC3339, s.UpdatedAt)
			require.NoError(w.t, err)
		}
	}},
	{name: "list: a cursor that was not given out, a relative folder", run: func(w *world) {
		p := w.hello()
		w.must(p.offers("list"), "session/list")
		p.fails("session/list", object{"cursor": "unheard-of"}, -32602)
		p.fails("session/list", object{"cwd": "here"}, -32602)
	}},
	{name: "load: the history as it was live, then the answer", pace: "5ms", run: func(w *world) {
		s := w.open()
		w.must(s.info.Capabilities.LoadSession, "session/load")
		var live []string
		for _, words := range []string{askMenu, askOrder, askPrice} {
			live = append(append(live, "user_message_chunk: "+words), story(w.t, s.prompt(words))...)
		}
		n := s.count()
		id := s.speaking(askMenu)
		s.notify("session/cancel", object{"sessionId": s.id})
		s.ended(id, "cancelled")
		live = append(append(live, "user_message_chunk: "+askMenu), story(w.t, s.since(n, s.id))...)

		again := s.restored(w, "session/load")
		assert.Equal(w.t, live, story(w.t, again.since(0, s.id)[:again.reply.at]))
		again.fence()
		again.usable()
	}},
	{name: "load: what cannot be loaded", run: func(w *world) {
		p := w.hello()
		w.must(p.info.Capabilities.LoadSession, "session/load")
		p.fails("session/load", object{"sessionId": "sess_unheard", "cwd": w.cwd, "mcpServers": []any{}}, -32002)
		p.fails("session/load", object{"sessionId": "../../etc/passwd", "cwd": w.cwd, "mcpServers": []any{}})
		p.fails("session/load", object{"cwd": w.cwd, "mcpServers": []any{}}, -32602)
	}},
	{name: "load: a session that another process has", run: func(w *world) {
		s := w.open()
		w.must(s.info.Capabilities.LoadSession, "session/load")
		s.usable()
		m := w.hello().call("session/load", object{"sessionId": s.id, "cwd": w.cwd, "mcpServers": []any{}})
		require.NotNil(w.t, m.Error)
		assert.Equal(w.t, "locked", decode[struct{ Kind string }](w, m.Error.Data).Kind)
		s.usable()
	}},
	{name: "resume: no replay, and it goes on", run: func(w *world) {
		s := w.open()
		w.must(s.offers("resume"), "session/resume")
		s.prompt(askOrder)
		again := s.restored(w, "session/resume")
		again.fence()
		assert.False(w.t, slices.ContainsFunc(again.since(0, s.id), note.ofTurn), "it replayed")
		again.usable()
		again.fails("session/resume", object{"sessionId": "sess_unheard", "cwd": w.cwd}, -32002)
	}},
	{name: "resume: after the agent was killed in mid-turn", pace: slowly, run: func(w *world) {
		s := w.open()
		w.must(s.offers("resume"), "session/resume")
		s.speaking(askMenu)
		require.NoError(w.t, s.cmd.Process.Kill())
		<-s.gone
		s.restored(w, "session/resume").usable()
	}},
	{name: "close: ends the turn, and the session is closed", pace: slowly, run: func(w *world) {
		s := w.open()
		w.must(s.offers("close"), "session/close")
		id := s.speaking(askMenu)
		s.do("session/close", object{"sessionId": s.id}, nil)
		s.ended(id, "cancelled")
		s.fails("session/prompt", object{"sessionId": s.id, "prompt": texts(askPrice)}, -32002)
		s.open(w.cwd).usable()
	}},
	{name: "close: what was closed can be loaded", run: func(w *world) {
		s := w.open()
		w.must(s.offers("close") && s.info.Capabilities.LoadSession, "session/close and session/load")
		s.usable()
		s.do("session/close", object{"sessionId": s.id}, nil)
		n := s.count()
		s.enter("session/load", object{"sessionId": s.id, "cwd": w.cwd, "mcpServers": []any{}}).usable()
		assert.Contains(w.t, story(w.t, s.since(n, s.id)), "user_message_chunk: "+askPrice)
	}},
	{name: "delete: gone from the list, unknown ids are none", run: func(w *world) {
		s := w.open()
		w.must(s.offers("delete") && s.offers("list"), "session/delete and session/list")
		s.usable()
		for _, id := range []string{s.id, s.id, "sess_unheard"} {
			s.do("session/delete", object{"sessionId": id}, nil)
		}
		assert.Empty(w.t, s.list(object{"cwd": w.cwd}))
		s.fails("session/prompt", object{"sessionId": s.id, "prompt": texts(askPrice)}, -32002)
	}},
}

var endChecks = []wireCheck{
	{name: "the end: of the input", run: func(w *world) { w.open().leaves((*peer).closeInput) }},
	{name: "the end: of the input in mid-turn", pace: slowly, run: func(w *world) {
		s := w.open()
		s.speaking(askMenu)
		s.leaves((*peer).closeInput)
	}},
	{name: "the end: of the input while a permission waits", run: func(w *world) {
		s := w.open()
		s.answering(silence)
		s.begin(askOrder)
		s.until("a question", func() bool { return len(s.asked) > 0 })
		s.leaves((*peer).closeInput)
	}},
	{name: "the end: SIGTERM", run: func(w *world) { w.open().leaves((*peer).terminate) }},
	{name: "the end: SIGTERM in mid-turn", pace: slowly, run: func(w *world) {
		s := w.open()
		s.speaking(askMenu)
		s.leaves((*peer).terminate)
	}},
}

func (p *peer) closeInput() { _ = p.in.Close() }

func (p *peer) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// leaves asks the agent to go, and sees that it does so and exits with 0.
func (p *peer) leaves(asked func(*peer)) {
	p.t.Helper()
	began := time.Now()
	asked(p)
	select {
	case <-p.gone:
		assert.Zero(p.t, p.cmd.ProcessState.ExitCode())
		p.t.Logf("it went after %s", time.Since(began).Round(time.Millisecond))
	case <-time.After(patience):
		require.Fail(p.t, "the agent is still there", "after %s", patience)
	}
}
