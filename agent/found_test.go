package agent_test

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withContext is a kit that tells the model of its workspace.
func withContext(m loop.Model) kitFunc {
	return func(context.Context, agent.Setup) (*agent.Kit, error) {
		return &agent.Kit{
			Model: func(string, string) (loop.Model, error) { return m, nil }, System: "be brief",
			Context: loop.Blocks{loop.Text{Text: "the workspace"}},
		}, nil
	}
}

func TestTheContextComesAgainAfterARefusedFirstPrompt(t *testing.T) {
	t.Parallel()
	model := scripted.New(scripted.Reply{Stop: loop.StopRefusal}, scripted.Say("yes"), scripted.Say("and again"))
	s := newStand(t, withContext(model), &peer{})
	for i, want := range []acp.StopReason{acp.StopRefusal, acp.StopEndTurn, acp.StopEndTurn} {
		reason, err := s.prompt("hello")
		require.NoError(t, err)
		assert.Equal(t, want, reason)
		first := model.Requests()[i].Messages[0]
		assert.Contains(t, loop.TextOf(first.Content), "the workspace")
	}
	assert.Len(t, model.Requests()[2].Messages, 3, "it comes once")
}

func TestACompactionKeepsTheContext(t *testing.T) {
	t.Parallel()
	model := scripted.New(scripted.Say("one"), scripted.Say("two"), scripted.Reply{Text: []string{"cut o"}, Stop: loop.StopMaxTokens},
		scripted.Say("whole"), scripted.Say("three"))
	s := newStand(t, withContext(model), &peer{})
	for _, text := range []string{"1", "2"} {
		_, err := s.prompt(text)
		require.NoError(t, err)
	}
	_, err := s.prompt("/compact")
	require.ErrorContains(t, err, "no complete summary")
	for _, text := range []string{"/compact", "3"} {
		_, err := s.prompt(text)
		require.NoError(t, err)
	}
	sent := model.Requests()[4].Messages
	assert.Contains(t, loop.TextOf(sent[0].Content), "the workspace")
	assert.Contains(t, loop.TextOf(sent[0].Content), "whole")
}

// Rules of the configuration that have changed hold for a session that is loaded.
func TestNewRulesReachALoadedSession(t *testing.T) {
	t.Parallel()
	spec := loop.Spec{Name: "asks"}
	store, id := stored(
		loop.Configured{Specs: []loop.Spec{spec}, System: "be brief"},
		loop.Prompted{MessageID: "msg_1_user", Content: loop.Blocks{loop.Text{Text: "go"}}},
		loop.Replied{Message: loop.Message{Content: loop.Blocks{loop.Text{Text: "yes"}}}, Stop: loop.StopEndTurn},
	)
	ran := false
	it := &tool{spec: spec, run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
		ran = true
		return loop.Result{}, nil
	}}
	p := &peer{permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		return choose("allow_once"), nil
	}}
	model := scripted.New(scripted.Ask("asks", ""), scripted.Say("done"))
	s := newStandOn(t, func(context.Context, agent.Setup) (*agent.Kit, error) {
		return &agent.Kit{
			Model: func(string, string) (loop.Model, error) { return model, nil }, Tools: always([]loop.Tool{it}), System: "be brief",
			Rules: loop.Rules{{Tool: "asks", Verdict: loop.Deny, Why: "not here"}},
		}, nil
	}, p, store)
	_, err := load(s, id)
	require.NoError(t, err)
	s.session = id
	_, err = s.prompt("go on")
	require.NoError(t, err)
	assert.False(t, ran)
	assert.Empty(t, p.asked)
}

// What is asked for last holds, though nobody waits for an answer.
func TestTheOrderOfTheRequestsHolds(t *testing.T) {
	t.Parallel()
	s := newStand(t, kitOf(scripted.New()), &peer{})
	for range 20 {
		run := make([]func(context.Context) (*acp.SetSessionModeResponse, error), 0, 4)
		for _, m := range []acp.SessionModeID{"plan", "ask", "plan", "accept-edits"} {
			work, err := s.served.SetSessionMode(&acp.SetSessionModeRequest{SessionID: s.session, ModeID: m})
			require.NoError(t, err)
			run = append(run, work)
		}
		var group sync.WaitGroup
		for _, work := range run {
			group.Go(func() {
				_, err := work(s.ctx())
				assert.NoError(t, err)
			})
		}
		group.Wait()
		again, err := load(s, s.session)
		require.NoError(t, err)
		require.Equal(t, "accept-edits", valueOf(t, again.ConfigOptions, "mode"))
	}
}

// A load that is given up leaves the session as open as it was, and an idle session's cancel is for no load.
func TestALoadThatIsGivenUp(t *testing.T) {
	t.Parallel()
	model := scripted.New(scripted.Say("one"), scripted.Say("two"), scripted.Say("three"))
	s := newStand(t, kitOf(model), &peer{})
	_, err := s.prompt("hello")
	require.NoError(t, err)
	for range 2 {
		ctx, cancel := context.WithCancel(s.ctx())
		done := make(chan error, 1)
		go func() {
			_, err := s.conn.LoadSession(ctx, &acp.LoadSessionRequest{SessionID: s.session, Cwd: "/w"})
			done <- err
		}()
		cancel()
		if err := <-done; err != nil { // it may have been answered before it was given up
			t.Log(err)
		}
		s.cancel(t)
		_, err = s.prompt("hello again")
		require.NoError(t, err)
	}
	assert.Len(t, model.Requests()[2].Messages, 5)
}

func TestCloseThenLoad(t *testing.T) {
	t.Parallel()
	s := newStand(t, kitOf(scripted.New()), &peer{})
	for range 30 {
		closed := make(chan error, 1)
		go func() {
			_, err := s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: s.session})
			closed <- err
		}()
		_, err := load(s, s.session)
		if err != nil {
			require.NotContains(t, toJSON(t, err), "locked", "it is nobody else's")
		}
		if err := <-closed; err != nil {
			require.ErrorIs(t, err, acp.ErrNotFound)
		}
		if _, err := load(s, s.session); err != nil {
			require.NoError(t, err)
		}
	}
}

// refusingPeer has files, and refuses to give or to change them.
type refusingPeer struct {
	*peer
	err error
}

func (p *refusingPeer) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return nil, p.err
}

func (p *refusingPeer) WriteTextFile(context.Context, *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	return nil, p.err
}

// disk is files of our own.
type disk map[string]string

func (d disk) ReadFile(_ context.Context, name string) ([]byte, error) {
	if text, ok := d[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (d disk) WriteFile(_ context.Context, name string, data []byte) error {
	d[name] = string(data)
	return nil
}

// withEditor lets a call work with files of an editor's in front of our own.
func withEditor(t *testing.T, editor acp.Client, own agent.Files, work func(context.Context, agent.Files)) {
	t.Helper()
	it := &tool{spec: loop.Spec{Name: "files", Default: loop.Allow}}
	model := scripted.New(scripted.Ask("files", ""), scripted.Say("done"))
	agentEnd, clientEnd := acp.Pipe()
	served := make(chan error, 1)
	var a *agent.Agent
	go func() {
		served <- acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
			store := &memStore{logs: map[acp.SessionID]*memLog{}}
			a = agent.New(c, agentOptions(func(_ context.Context, s agent.Setup) (*agent.Kit, error) {
				it.run = func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
					work(ctx, s.Files(own))
					return loop.Result{}, nil
				}
				return &agent.Kit{Model: func(string, string) (loop.Model, error) { return model, nil }, Tools: always([]loop.Tool{it})}, nil
			}, &peer{}, store))
			return a
		}, acp.Options{})
	}()
	conn := acp.Dial(context.Background(), clientEnd, editor, acp.Options{})
	ctx := context.Background()
	_, err := conn.Initialize(ctx, &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion, ClientCapabilities: acp.ClientCapabilities{
		FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true},
	}})
	require.NoError(t, err)
	opened, err := conn.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/w"})
	require.NoError(t, err)
	_, err = conn.Prompt(ctx, &acp.PromptRequest{SessionID: opened.SessionID, Prompt: acp.ContentBlocks{acp.TextContent{Text: "go"}}})
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, <-served)
	require.NoError(t, a.Close())
}

// emptyPeer has files, and says of each that it is empty.
type emptyPeer struct{ *peer }

func (emptyPeer) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return &acp.ReadTextFileResponse{}, nil
}

// Some editors say of a file that is not there that it is empty: then it is for the disk to say.
func TestAFileThatIsNotThereIsNotEmpty(t *testing.T) {
	t.Parallel()
	var none, read error
	var cleared []byte
	withEditor(t, emptyPeer{&peer{}}, disk{"/w/cleared": "saved"}, func(ctx context.Context, files agent.Files) {
		_, none = files.ReadFile(ctx, "/w/none")
		cleared, read = files.ReadFile(ctx, "/w/cleared")
	})
	require.ErrorIs(t, none, fs.ErrNotExist)
	require.NoError(t, read)
	assert.Empty(t, cleared, "the buffer is, and is not saved")
}

func TestWhatTheEditorRefusesIsNotDoneInAnotherWay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err   error
		holds bool
	}{
		"refused":      {&acp.Error{Code: -32000, Message: "protected"}, true},
		"internal":     {&acp.Error{Code: -32603, Message: "the user rejected this change"}, true},
		"not offered":  {acp.ErrMethodNotFound, false},
		"wrong params": {acp.InvalidParams("no"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := disk{"/w/a": "old"}
			var read, wrote error
			withEditor(t, &refusingPeer{&peer{}, tc.err}, own, func(ctx context.Context, files agent.Files) {
				_, read = files.ReadFile(ctx, "/w/a")
				wrote = files.WriteFile(ctx, "/w/a", []byte("new"))
			})
			if tc.holds {
				require.Error(t, read)
				require.Error(t, wrote)
				assert.Equal(t, disk{"/w/a": "old"}, own)
				return
			}
			require.NoError(t, read)
			require.NoError(t, wrote)
			assert.Equal(t, disk{"/w/a": "new"}, own)
		})
	}
}

// An option can be set while what the session works with is made.
func TestAModeWhileOpening(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		inner := kitOf(scripted.New(scripted.Say("done")))
		s := newStand(t, func(ctx context.Context, setup agent.Setup) (*agent.Kit, error) {
			<-release
			return inner(ctx, setup)
		}, &peer{})
		done := make(chan error, 1)
		go func() { _, err := s.prompt("go"); done <- err }()
		synctest.Wait()
		_, err := s.conn.SetSessionMode(s.ctx(), &acp.SetSessionModeRequest{SessionID: s.session, ModeID: "plan"})
		require.NoError(t, err)
		close(release)
		require.NoError(t, <-done)
		s.stop()
	})
}

// A panic where the session's things are made fails the prompt and nothing else.
func TestAPanicWhileOpening(t *testing.T) {
	t.Parallel()
	inner := kitOf(scripted.New(scripted.Say("done")))
	first := true
	s := newStand(t, func(ctx context.Context, setup agent.Setup) (*agent.Kit, error) {
		if first {
			first = false
			panic("oops")
		}
		return inner(ctx, setup)
	}, &peer{})
	_, err := s.prompt("go")
	require.Error(t, err)
	reason, err := s.prompt("go")
	require.NoError(t, err)
	assert.Equal(t, acp.StopEndTurn, reason)
}
