package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stored is a store with one session that another process has left, after those inputs.
func stored(inputs ...loop.Input) (*memStore, acp.SessionID) {
	const id = "sess_aaaaaaaaaaaaaaaa"
	return &memStore{
		logs:  map[acp.SessionID]*memLog{id: {inputs: inputs}},
		order: []agent.Info{{ID: id, Cwd: "/w", Updated: time.Date(2026, 11, 30, 1, 2, 3, 4e6, time.UTC)}},
	}, id
}

func load(s *stand, id acp.SessionID) (*acp.LoadSessionResponse, error) {
	return s.conn.LoadSession(s.ctx(), &acp.LoadSessionRequest{SessionID: id, Cwd: "/w"})
}

// C062: a session that is loaded looks as it did live, and is told before the answer; a resumed one is told nothing.
func TestC062LoadLooksAsItDidLive(t *testing.T) {
	t.Parallel()
	old := "a"
	tools := []loop.Tool{
		&tool{spec: loop.Spec{Name: "edit", Kind: loop.KindEdit, Default: loop.Allow}, preview: func(loop.Call) (loop.Preview, error) {
			return loop.Preview{
				Title: "Edit a.go", Locations: []loop.Location{{Path: "/w/a.go", Line: 3}},
				Display: loop.Blocks{loop.Diff{Path: "/w/a.go", Old: &old, New: "b"}},
			}, nil
		}},
		&tool{spec: loop.Spec{Name: "broken", Default: loop.Allow}, preview: func(loop.Call) (loop.Preview, error) { return loop.Preview{}, errBroken }},
		&tool{spec: loop.Spec{Name: "asks"}},
	}
	replies := []scripted.Reply{
		{Thought: []string{"hm, ", "so"}, Text: []string{"Let me ", "see."}, Calls: []loop.Call{
			loop.NewCall("", "edit", "{}"), loop.NewCall("", "broken", ""), loop.NewCall("", "asks", ""), loop.NewCall("", "nope", ""),
		}},
		{Text: []string{"Done", "."}},
		{Text: []string{"never to be "}, Hang: true},
	}
	synctest.Test(t, func(t *testing.T) {
		p := &peer{permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return choose("reject_once"), nil
		}}
		s := newStand(t, kitOf(scripted.New(replies...), tools...), p)
		_, err := s.prompt("go")
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { _, err := s.prompt("and on"); done <- err }()
		synctest.Wait()
		s.cancel(t)
		require.NoError(t, <-done)
		live := p.all()
		s.stop()

		again := newStandOn(t, kitOf(scripted.New(scripted.Say("You said go.")), tools...), &peer{}, s.store)
		r, err := load(again, s.session)
		require.NoError(t, err)
		replayed := again.peer.all()
		assert.JSONEq(t, toJSON(t, joined(live)), toJSON(t, joined(withoutPrompts(replayed))))
		var prompts []string
		for _, u := range replayed {
			if c, ok := u.(acp.UserMessageChunk); ok {
				prompts = append(prompts, c.Content.(acp.TextContent).Text)
			}
		}
		assert.Equal(t, []string{"go", "and on"}, prompts)
		require.NotNil(t, r.Modes)
		assert.NotEmpty(t, r.ConfigOptions)

		_, err = load(again, s.session)
		require.NoError(t, err, "it can be loaded while it is open")
		assert.JSONEq(t, toJSON(t, replayed), toJSON(t, again.peer.all()))
		again.session = s.session
		reason, err := again.prompt("what did I say?")
		require.NoError(t, err)
		assert.Equal(t, acp.StopEndTurn, reason)
		again.stop()

		third := newStandOn(t, kitOf(scripted.New(scripted.Say("Still here."))), &peer{}, s.store)
		_, err = third.conn.ResumeSession(third.ctx(), &acp.ResumeSessionRequest{SessionID: s.session, Cwd: "/elsewhere"})
		require.NoError(t, err)
		synctest.Wait()
		assert.Empty(t, third.peer.all())
		third.session = s.session
		_, err = third.prompt("there?")
		require.NoError(t, err)
		assert.Equal(t, "Still here.", third.peer.text())
		third.stop()
	})
}

func withoutPrompts(updates []acp.SessionUpdate) (out []acp.SessionUpdate) {
	for _, u := range updates {
		if _, ok := u.(acp.UserMessageChunk); !ok {
			out = append(out, u)
		}
	}
	return out
}

// joined joins neighbouring chunks of text.
func joined(updates []acp.SessionUpdate) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	for _, u := range updates {
		if c, ok := u.(acp.AgentMessageChunk); ok && len(out) > 0 {
			if before, ok := out[len(out)-1].(acp.AgentMessageChunk); ok && *before.MessageID == *c.MessageID {
				before.Content = acp.TextContent{Text: before.Content.(acp.TextContent).Text + c.Content.(acp.TextContent).Text}
				out[len(out)-1] = before
				continue
			}
		}
		out = append(out, u)
	}
	return out
}

func TestWhatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	s := newStand(t, kitOf(scripted.New()), &peer{})
	for _, id := range []acp.SessionID{"sess_bbbbbbbbbbbbbbbb", "../../etc/passwd", "", "x\x00y"} {
		_, err := load(s, id)
		require.ErrorIs(t, err, acp.ErrNotFound, "%q", id)
		_, err = s.conn.Prompt(s.ctx(), &acp.PromptRequest{SessionID: id, Prompt: acp.ContentBlocks{acp.TextContent{Text: "x"}}})
		require.ErrorIs(t, err, acp.ErrNotFound, "nothing was opened by that")
	}
	store, id := stored()
	store.lease = fmt.Errorf("%w: process 7 on there has it", agent.ErrLocked)
	s = newStandOn(t, kitOf(scripted.New()), &peer{}, store)
	_, err := load(s, id)
	assert.Contains(t, kindOf(t, err), "locked")
	require.ErrorContains(t, err, "process 7")
	store.lease = nil
	_, err = load(s, id)
	require.NoError(t, err, "it can be tried again")
}

func kindOf(t *testing.T, err error) string {
	t.Helper()
	var wire *acp.Error
	require.ErrorAs(t, err, &wire)
	return string(wire.Data)
}

// A turn that a dead process has left open is ended honestly before the answer: nothing runs again by itself.
func TestAnInterruptedTurnIsEnded(t *testing.T) {
	t.Parallel()
	half := []loop.Input{
		loop.Configured{Specs: []loop.Spec{{Name: "asks"}, {Name: "other"}}},
		loop.Prompted{MessageID: "msg_1_user", Content: loop.Blocks{loop.Text{Text: "go"}}},
		loop.Replied{Message: loop.Message{Calls: []loop.Call{loop.NewCall("", "asks", ""), loop.NewCall("", "other", "")}}, Stop: loop.StopEndTurn},
		loop.Previewed{CallID: "call_1_1"},
		loop.Decided{CallID: "call_1_1", Outcome: loop.AllowOnce},
		loop.Intended{CallID: "call_1_1"},
	}
	for _, how := range []string{"load", "resume"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			store, id := stored(half...)
			model := scripted.New(scripted.Reply{Text: []string{"I will check."}, Expect: "go on"})
			p := &peer{permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return choose("reject_once"), nil
			}}
			s := newStandOn(t, kitOf(model), p, store)
			var err error
			if how == "load" {
				_, err = load(s, id)
			} else {
				_, err = s.conn.ResumeSession(s.ctx(), &acp.ResumeSessionRequest{SessionID: id, Cwd: "/w"})
			}
			require.NoError(t, err)
			last, texts := map[acp.ToolCallID]acp.ToolCallStatus{}, map[acp.ToolCallID]string{}
			for _, u := range s.peer.all() {
				if v, ok := u.(acp.ToolCallUpdate); ok && v.Status != nil {
					last[v.ToolCallID] = *v.Status
					for _, c := range v.Content {
						texts[v.ToolCallID] = c.(acp.ContentItem).Content.(acp.TextContent).Text
					}
				}
			}
			assert.Equal(t, map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusPending, "call_1_2": acp.StatusFailed}, last)
			assert.Contains(t, texts["call_1_2"], "before it ran")
			s.session = id
			_, err = s.prompt("go on")
			require.NoError(t, err)
			sent := model.Requests()[0].Messages
			require.Len(t, sent, 4)
			assert.Len(t, sent[2].Results, 2, "the history is well paired")
			require.Len(t, p.asked, 1, "what may be done is asked about before anything else")
			assert.Equal(t, acp.ToolCallID("call_1_1"), p.asked[0].ToolCall.ToolCallID)
			assert.Equal(t, "May be done already: asks", *p.asked[0].ToolCall.Title)
			assert.Contains(t, loop.TextOf(sent[2].Results[0].Content), "whether it took effect is unknown")
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	store := &memStore{logs: map[acp.SessionID]*memLog{}}
	for i := range 120 {
		id := acp.SessionID(fmt.Sprintf("sess_%016d", i))
		cwd := "/w"
		if i%2 == 1 {
			cwd = "/other"
		}
		store.logs[id] = &memLog{inputs: []loop.Input{loop.Prompted{Content: loop.Blocks{loop.Text{Text: fmt.Sprintf("Prompt %d", i)}}}}}
		store.order = append(store.order, agent.Info{ID: id, Cwd: cwd, Updated: time.Date(2026, 11, 30, 0, i, 0, 0, time.UTC)})
	}
	s := newStandOn(t, kitOf(scripted.New()), &peer{}, store)
	require.NoError(t, store.Delete(s.ctx(), s.session))
	cwd := "/w/"
	var seen []string
	request := &acp.ListSessionsRequest{Cwd: &cwd}
	for {
		page, err := s.conn.ListSessions(s.ctx(), request)
		require.NoError(t, err)
		for _, info := range page.Sessions {
			assert.Equal(t, "/w", info.Cwd)
			seen = append(seen, info.Title)
		}
		if page.NextCursor == nil {
			break
		}
		request.Cursor = page.NextCursor
	}
	require.Len(t, seen, 60)
	assert.Equal(t, []string{"Prompt 0", "Prompt 2"}, seen[:2])
	first, err := s.conn.ListSessions(s.ctx(), &acp.ListSessionsRequest{})
	require.NoError(t, err)
	assert.Len(t, first.Sessions, 50)
	assert.Equal(t, "2026-11-30T00:01:00.000Z", first.Sessions[1].UpdatedAt)
	bad := "nonsense"
	_, err = s.conn.ListSessions(s.ctx(), &acp.ListSessionsRequest{Cursor: &bad})
	var wire *acp.Error
	require.ErrorAs(t, err, &wire)
	assert.EqualValues(t, acp.CodeInvalidParams, wire.Code)
}

func TestCloseAndDelete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, kitOf(scripted.New(scripted.Reply{Text: []string{"on and "}, Hang: true})), &peer{})
		reasons := make(chan acp.StopReason, 2)
		for range 2 {
			go func() {
				reason, err := s.prompt("go")
				assert.NoError(t, err)
				reasons <- reason
			}()
			synctest.Wait()
		}
		_, err := s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: s.session})
		require.NoError(t, err)
		assert.Equal(t, acp.StopCancelled, <-reasons)
		assert.Equal(t, acp.StopCancelled, <-reasons)
		assert.True(t, s.store.logs[s.session].closed)
		_, err = s.prompt("still there?")
		require.ErrorIs(t, err, acp.ErrNotFound)
		_, err = s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: s.session})
		require.ErrorIs(t, err, acp.ErrNotFound)

		_, err = load(s, s.session)
		require.NoError(t, err, "a closed one can be loaded")
		for range 2 {
			_, err = s.conn.DeleteSession(s.ctx(), &acp.DeleteSessionRequest{SessionID: s.session})
			require.NoError(t, err, "also when it is not there")
		}
		assert.Empty(t, s.store.logs)
		_, err = s.prompt("still there?")
		require.ErrorIs(t, err, acp.ErrNotFound)
		s.stop()
	})
}

func TestModesAndOptionsGoInStep(t *testing.T) {
	t.Parallel()
	model := scripted.New(scripted.Ask("edit", "{}"), scripted.Say("planned"), scripted.Ask("edit", "{}"), scripted.Say("edited"))
	edit := &tool{spec: loop.Spec{Name: "edit", Kind: loop.KindEdit}}
	p := &peer{caps: acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{
		ConfigOptions: &acp.SessionConfigOptionsCapabilities{Boolean: &acp.BooleanConfigOptionCapabilities{}},
	}}}
	s := newStand(t, kitOf(model, edit), p)
	_, err := s.conn.SetSessionMode(s.ctx(), &acp.SetSessionModeRequest{SessionID: s.session, ModeID: "plan"})
	require.NoError(t, err)
	updates := p.all()
	require.Len(t, updates, 2)
	assert.Equal(t, acp.CurrentModeUpdate{CurrentModeID: "plan"}, updates[0])
	assert.Equal(t, "plan", valueOf(t, updates[1].(acp.ConfigOptionUpdate).ConfigOptions, "mode"))
	_, err = s.prompt("go")
	require.NoError(t, err)
	last, _ := settlements(t, p.all())
	assert.Equal(t, acp.StatusFailed, last["call_1_1"], "plan mode changes nothing")
	assert.Empty(t, p.asked)

	r, err := s.conn.SetSessionConfigOption(s.ctx(), &acp.SetSessionConfigOptionRequest{
		SessionID: s.session, ConfigID: "mode", Value: acp.SelectValue{Value: "accept-edits"},
	})
	require.NoError(t, err)
	assert.Equal(t, "accept-edits", valueOf(t, r.ConfigOptions, "mode"))
	assert.Contains(t, p.all(), acp.CurrentModeUpdate{CurrentModeID: "accept-edits"})
	_, err = s.prompt("go on")
	require.NoError(t, err)
	last, _ = settlements(t, p.all())
	assert.Equal(t, acp.StatusCompleted, last["call_2_1"])
	assert.Empty(t, p.asked)

	for _, bad := range []acp.SetSessionConfigOptionRequest{
		{ConfigID: "mode", Value: acp.SelectValue{Value: "bypass"}},
		{ConfigID: "nope", Value: acp.SelectValue{Value: "x"}},
		{ConfigID: "mode", Value: acp.BooleanValue{Value: true}},
		{ConfigID: "thoughts", Value: acp.SelectValue{Value: "maybe"}},
	} {
		bad.SessionID = s.session
		_, err = s.conn.SetSessionConfigOption(s.ctx(), &bad)
		var wire *acp.Error
		require.ErrorAs(t, err, &wire, bad)
		assert.EqualValues(t, acp.CodeInvalidParams, wire.Code)
	}
	for _, set := range []acp.SetSessionConfigOptionRequest{
		{ConfigID: "thought_level", Value: acp.SelectValue{Value: "high"}}, {ConfigID: "thoughts", Value: acp.BooleanValue{}},
	} {
		set.SessionID = s.session
		r, err = s.conn.SetSessionConfigOption(s.ctx(), &set)
		require.NoError(t, err)
	}
	assert.Equal(t, "high", valueOf(t, r.ConfigOptions, "thought_level"))
	r, err = s.conn.SetSessionConfigOption(s.ctx(), &acp.SetSessionConfigOptionRequest{
		SessionID: s.session, ConfigID: "model", Value: acp.SelectValue{Value: "test/two"},
	})
	require.NoError(t, err)
	assert.Empty(t, valueOf(t, r.ConfigOptions, "thought_level"), "that model has none")
	s.stop()

	again := newStandOn(t, kitOf(scripted.New()), &peer{caps: p.caps}, s.store)
	loaded, err := load(again, s.session)
	require.NoError(t, err)
	for id, want := range map[string]string{"mode": "accept-edits", "model": "test/two", "thoughts": "false"} {
		assert.Equal(t, want, valueOf(t, loaded.ConfigOptions, id), id)
	}
	assert.EqualValues(t, "accept-edits", loaded.Modes.CurrentModeID)
}

// valueOf is an option's current value as text; empty where there is no such option.
func valueOf(t *testing.T, options acp.SessionConfigOptions, id string) string {
	t.Helper()
	for _, o := range options {
		switch v := o.(type) {
		case acp.SessionConfigSelect:
			if string(v.ID) == id {
				return string(v.CurrentValue)
			}
		case acp.SessionConfigBoolean:
			if string(v.ID) == id {
				return fmt.Sprint(v.CurrentValue)
			}
		case acp.RawSessionConfigOption:
			assert.Fail(t, "an option of a type that the protocol does not have", v.Type)
		}
	}
	return ""
}

// Bypass is offered only where the process was started so, and a session that had it elsewhere asks again.
func TestBypassIsOfferedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	store, id := stored(loop.Chosen{Option: "mode", Value: "bypass"})
	s := newStandOn(t, kitOf(scripted.New(scripted.Ask("asks", ""), scripted.Say("ok")), &tool{spec: loop.Spec{Name: "asks"}}), &peer{}, store)
	r, err := load(s, id)
	require.NoError(t, err)
	assert.Equal(t, "ask", valueOf(t, r.ConfigOptions, "mode"))
	s.session = id
	_, err = s.prompt("go")
	require.NoError(t, err)
	assert.Len(t, s.peer.asked, 1)

	store, id = stored(loop.Chosen{Option: "mode", Value: "bypass"})
	s = newStandOn(t, kitOf(scripted.New(scripted.Ask("asks", ""), scripted.Say("ok")), &tool{spec: loop.Spec{Name: "asks"}}), &peer{bypass: true}, store)
	_, err = load(s, id)
	require.NoError(t, err)
	s.session = id
	_, err = s.prompt("go")
	require.NoError(t, err)
	assert.Empty(t, s.peer.asked)
}

// A mode that is set while a turn runs holds for the rest of that turn.
func TestAModeInMidTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &peer{bypass: true, permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			<-release
			return choose("allow_once"), nil
		}}
		model := scripted.New(scripted.Ask("asks", ""), scripted.Ask("asks", ""), scripted.Say("done"))
		s := newStand(t, kitOf(model, &tool{spec: loop.Spec{Name: "asks"}}), p)
		done := make(chan error, 1)
		go func() { _, err := s.prompt("go"); done <- err }()
		synctest.Wait()
		_, err := s.conn.SetSessionMode(s.ctx(), &acp.SetSessionModeRequest{SessionID: s.session, ModeID: "bypass"})
		require.NoError(t, err)
		close(release)
		require.NoError(t, <-done)
		assert.Len(t, p.asked, 1)
		s.stop()
	})
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	forgotten := 0
	var usable error = &loop.Failure{Kind: loop.FailAuth, Message: "Set TEST_KEY."}
	p := &peer{
		caps:   acp.ClientCapabilities{Auth: acp.AuthCapabilities{Terminal: true}},
		check:  func(string) error { return usable },
		logout: func() error { forgotten++; return nil },
	}
	store := &memStore{logs: map[acp.SessionID]*memLog{}}
	conn, info := bare(t, p, store)
	require.Len(t, info.AuthMethods, 2)
	assert.IsType(t, acp.AuthMethodAgent{}, info.AuthMethods[0])
	assert.Equal(t, []string{"--login"}, info.AuthMethods[1].(acp.AuthMethodTerminal).Args)
	require.NotNil(t, info.AgentCapabilities.Auth.Logout)
	_, err := conn.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: "/w"})
	require.ErrorIs(t, err, acp.ErrAuth)
	require.ErrorContains(t, err, "Set TEST_KEY.")
	_, err = conn.Authenticate(t.Context(), &acp.AuthenticateRequest{MethodID: "provider"})
	require.ErrorIs(t, err, acp.ErrAuth)
	usable = nil
	_, err = conn.Authenticate(t.Context(), &acp.AuthenticateRequest{MethodID: "provider"})
	require.NoError(t, err)
	_, err = conn.Authenticate(t.Context(), &acp.AuthenticateRequest{MethodID: "login"})
	var wire *acp.Error
	require.ErrorAs(t, err, &wire)
	assert.EqualValues(t, acp.CodeInvalidParams, wire.Code)
	_, err = conn.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: "/w"})
	require.NoError(t, err)
	_, err = conn.Logout(t.Context(), &acp.LogoutRequest{})
	require.NoError(t, err)
	assert.Equal(t, 1, forgotten)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	p := &peer{commands: func(string) []agent.SlashCommand {
		return []agent.SlashCommand{
			{Name: "tidy", Description: "Tidies", Expand: func(ctx context.Context, args string) (loop.Blocks, error) {
				return loop.Blocks{loop.Text{Text: "the skill, for " + args}}, ctx.Err()
			}},
			{Name: "help", Description: "not to be had"},
		}
	}}
	model := scripted.New(scripted.Ask("asks", ""), scripted.Say("ok"), scripted.Say("tidied"), scripted.Say("what?"), scripted.Say("the summary"), scripted.Say("on"))
	s := newStand(t, kitOf(model, &tool{spec: loop.Spec{Name: "asks"}}), p)
	p.permit = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		return choose("allow_always"), nil
	}
	say := func(text string) string {
		reason, err := s.prompt(text)
		require.NoError(t, err)
		assert.Equal(t, acp.StopEndTurn, reason)
		return p.text()
	}
	assert.Contains(t, say("/help"), "`/tidy` Tidies")
	assert.Contains(t, say("/mcp"), "No MCP servers")
	assert.Contains(t, say("/compact"), "nothing to compact")
	say("go")
	assert.Contains(t, say("/permissions"), "1. allow asks")
	assert.Contains(t, say("/permissions revoke 2"), "There is no rule")
	assert.Contains(t, say("/permissions revoke 1"), "Taken back: allow asks")
	assert.Contains(t, say("/permissions"), "no rules")
	assert.Contains(t, say("/context"), "| 1 tools |")
	assert.Equal(t, "tidied", say("/tidy the kitchen"))
	sent := model.Requests()[2].Messages
	assert.Equal(t, "the skill, for the kitchen\n/tidy the kitchen", loop.TextOf(sent[len(sent)-1].Content))
	assert.Equal(t, "what?", say("/unknown thing"), "what is no command is text")
	assert.Contains(t, say("/compact"), "the summary")
	assert.Equal(t, "on", say("go on"))
	sent = model.Requests()[5].Messages
	require.Len(t, sent, 2)
	assert.Contains(t, loop.TextOf(sent[0].Content), "the summary")

	var names []string
	for _, u := range p.aside {
		if v, ok := u.(acp.AvailableCommandsUpdate); ok {
			names = nil
			for _, c := range v.AvailableCommands {
				names = append(names, c.Name)
			}
		}
	}
	assert.Equal(t, []string{"help", "context", "mcp", "permissions", "compact", "tidy"}, names)
	again, err := json.Marshal(s.store.logs[s.session].inputs)
	require.NoError(t, err)
	assert.Contains(t, string(again), "/help", "commands are in the log too")
}

// What only some clients can show is sent to those alone.
func TestGatedUpdates(t *testing.T) {
	t.Parallel()
	for _, able := range []bool{true, false} {
		p := &peer{}
		if able {
			p.caps.Session = &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}, Compaction: &acp.CompactionCapabilities{}}
		}
		model := scripted.New(scripted.Say("one"), scripted.Say("two"), scripted.Say("the gist"))
		s := newStand(t, func(context.Context, agent.Setup) (*agent.Kit, error) {
			return &agent.Kit{
				Model:   func(string, string) (loop.Model, error) { return model, nil },
				Servers: always([]agent.Server{{Name: "good"}, {Name: "bad", Why: "no licence"}}),
			}, nil
		}, p)
		for _, text := range []string{"a", "b", "/compact"} {
			_, err := s.prompt(text)
			require.NoError(t, err)
		}
		var gated []acp.SessionUpdate
		for _, u := range p.all() {
			switch u.(type) {
			case acp.Notice, acp.CompactionUpdate, acp.CompactionSummaryChunk:
				gated = append(gated, u)
			default: // what every client gets
			}
		}
		if !able {
			assert.Empty(t, gated)
			continue
		}
		const id = "compaction_1"
		assert.Equal(t, []acp.SessionUpdate{
			acp.Notice{Severity: acp.SeverityWarning, Title: "The MCP server bad is not available", Description: "no licence"},
			acp.CompactionUpdate{CompactionID: id, Status: acp.CompactionInProgress},
			acp.CompactionSummaryChunk{CompactionID: id, Content: acp.TextContent{Text: "the gist"}},
			acp.CompactionUpdate{CompactionID: id, Status: acp.CompactionCompleted},
		}, gated)
	}
}

// C003: what is said of a session comes behind the response that names it; what is replayed comes before it.
func TestC003NothingBeforeTheClientKnowsTheSession(t *testing.T) {
	t.Parallel()
	store, id := stored(loop.Prompted{Content: loop.Blocks{loop.Text{Text: "go"}}}, loop.Replied{
		Message: loop.Message{Content: loop.Blocks{loop.Text{Text: "gone"}}}, Stop: loop.StopEndTurn,
	})
	for range 100 {
		agentEnd, client := acp.Pipe()
		done := make(chan error, 1)
		var served *agent.Agent
		go func() {
			done <- acp.Serve(t.Context(), agentEnd, func(c *acp.ClientConn) acp.Agent {
				served = agent.New(c, agentOptions(kitOf(scripted.New()), &peer{}, store))
				return served
			}, acp.Options{})
		}()
		lines := bufio.NewScanner(client)
		ask := func(request string, upTo string) (got []string) {
			_, err := io.WriteString(client, request+"\n")
			require.NoError(t, err)
			for lines.Scan() {
				var m struct {
					ID     *int
					Params struct {
						Update struct{ SessionUpdate string }
					}
				}
				require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
				what := m.Params.Update.SessionUpdate
				if m.ID != nil {
					what = fmt.Sprint("answer ", *m.ID)
				}
				if got = append(got, what); what == upTo {
					return got
				}
			}
			return got
		}
		const commands = "available_commands_update"
		ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`, "answer 0")
		assert.Equal(t, []string{"answer 1", commands}, ask(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`, commands))
		params := fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","mcpServers":[]}`, id)
		assert.Equal(t, []string{"user_message_chunk", "agent_message_chunk", "session_info_update", "answer 2", commands},
			ask(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":`+params+`}`, commands))
		assert.Equal(t, []string{"answer 3", commands}, ask(`{"jsonrpc":"2.0","id":3,"method":"session/resume","params":`+params+`}`, commands))
		require.NoError(t, client.Close())
		require.NoError(t, <-done)
		require.NoError(t, served.Close())
	}
}

func TestThePlanIsTold(t *testing.T) {
	t.Parallel()
	entries := []loop.PlanEntry{{Content: "look", Status: "in_progress", Priority: "high"}, {Content: "mend", Status: "pending", Priority: "low"}}
	plan := &tool{spec: loop.Spec{Name: "plan", Default: loop.Allow}, run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
		return loop.Result{Content: loop.Blocks{loop.Text{Text: "Plan updated."}}, Display: loop.Blocks{loop.Plan{Entries: entries}}}, nil
	}}
	s := newStand(t, kitOf(scripted.New(scripted.Ask("plan", ""), scripted.Say("ok")), plan), &peer{})
	_, err := s.prompt("go")
	require.NoError(t, err)
	assert.Contains(t, s.peer.all(), acp.Plan{Entries: []acp.PlanEntry{
		{Content: "look", Status: acp.PlanInProgress, Priority: acp.PriorityHigh}, {Content: "mend", Status: acp.PlanPending, Priority: acp.PriorityLow},
	}})
}

func TestUsageIsToldWhereTheWindowIsKnown(t *testing.T) {
	t.Parallel()
	for model, want := range map[string][]acp.SessionUpdate{
		"test/one": {acp.UsageUpdate{Used: 30, Size: 1000}}, "test/two": nil,
	} {
		s := newStand(t, kitOf(scripted.New(scripted.Reply{Text: []string{"x"}, Usage: loop.Usage{Input: 20, Output: 10}})), &peer{})
		_, err := s.conn.SetSessionConfigOption(s.ctx(), &acp.SetSessionConfigOptionRequest{
			SessionID: s.session, ConfigID: "model", Value: acp.SelectValue{Value: acp.SessionConfigValueID(model)},
		})
		require.NoError(t, err)
		_, err = s.prompt("go")
		require.NoError(t, err)
		assert.Equal(t, want, s.peer.used(), model)
		s.stop()
		for how, open := range map[string]func(*stand) error{
			"load": func(again *stand) error { _, err := load(again, s.session); return err },
			"resume": func(again *stand) error {
				_, err := again.conn.ResumeSession(again.ctx(), &acp.ResumeSessionRequest{SessionID: s.session, Cwd: "/w"})
				return err
			},
		} {
			again := newStandOn(t, kitOf(scripted.New()), &peer{}, s.store)
			require.NoError(t, open(again))
			assert.Equal(t, want, again.peer.used(), "%s by %s", model, how)
			again.stop()
		}
	}
}

// used takes what was told of the window.
func (p *peer) used() (told []acp.SessionUpdate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.aside {
		if _, ok := u.(acp.UsageUpdate); ok {
			told = append(told, u)
		}
	}
	return told
}

// A cancel that lands while a session is being opened leaves nothing half open: the next prompt opens it whole.
func TestACancelWhileOpening(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened, closed := 0, 0
		s := newStand(t, func(ctx context.Context, _ agent.Setup) (*agent.Kit, error) {
			if opened++; opened == 1 {
				<-ctx.Done() // servers are left out when it is too late for them
			}
			return &agent.Kit{
				Model: func(string, string) (loop.Model, error) { return scripted.New(scripted.Say("whole")), nil },
				Close: func() error { closed++; return nil },
			}, nil
		}, &peer{})
		reasons := make(chan acp.StopReason, 1)
		go func() {
			reason, err := s.prompt("go")
			assert.NoError(t, err)
			reasons <- reason
		}()
		synctest.Wait()
		s.cancel(t)
		assert.Equal(t, acp.StopCancelled, <-reasons)
		assert.Equal(t, 1, closed)
		_, err := s.prompt("again")
		require.NoError(t, err)
		assert.Equal(t, "whole", s.peer.text())
		assert.Equal(t, 2, opened)
		s.stop()
	})
}
