package agent_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A load that is given up in the midst of the history has opened nothing: another process may have the session. One that
// waits behind it opens it.
func TestAGivenUpLoadHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"and no more": false, "and asked for again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, id := stored(loop.Prompted{MessageID: "m1", Content: loop.Blocks{loop.Text{Text: "a"}, loop.Text{Text: "b"}, loop.Text{Text: "c"}}})
				s := connect(t, kitOf(scripted.New(scripted.Say("hello"))), &peer{seen: make(chan acp.SessionUpdate)}, store)
				_, err := s.conn.Initialize(s.ctx(), s.initialize)
				require.NoError(t, err)
				ctx, giveUp := context.WithCancel(s.ctx())
				first, second := make(chan error, 1), make(chan error, 1)
				go func() {
					_, err := s.conn.LoadSession(ctx, &acp.LoadSessionRequest{SessionID: id, Cwd: "/w"})
					first <- err
				}()
				<-s.peer.seen
				giveUp()
				require.ErrorIs(t, <-first, context.Canceled)
				if again {
					go func() { _, err := load(s, id); second <- err }()
				}
				synctest.Wait()
				ended := make(chan struct{})
				go func() {
					for {
						select {
						case <-s.peer.seen:
						case <-ended:
							return
						}
					}
				}()
				defer close(ended)
				synctest.Wait()
				if again {
					require.NoError(t, <-second)
				}
				assert.Equal(t, !again, store.logs[id].closed)
				s.session = id
				_, err = s.prompt("hi")
				if again {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, acp.ErrNotFound)
				_, err = load(s, id)
				require.NoError(t, err)
			})
		})
	}
}

// A session that was opened while an earlier one by its id was being closed stays open like any other when a load of it
// is given up.
func TestAGivenUpLoadOfASessionThatCameBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closing := make(chan struct{})
		s := newStand(t, func(context.Context, agent.Setup) (*agent.Kit, error) {
			return &agent.Kit{
				Model: func(string, string) (loop.Model, error) { return scripted.New(scripted.Say("hi")), nil },
				Close: func() error { <-closing; return nil },
			}, nil
		}, &peer{})
		_, err := s.prompt("hello")
		require.NoError(t, err)
		closed := later(func() {
			_, err := s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: s.session})
			assert.NoError(t, err)
		})
		loaded := later(func() { _, err := load(s, s.session); assert.NoError(t, err) })
		closing <- struct{}{}
		require.True(t, closed() && loaded())
		for range 10 {
			_, err = s.prompt("hello")
			require.NoError(t, err)
			ctx, giveUp := context.WithCancel(s.ctx())
			givenUp := later(func() {
				_, err := s.conn.LoadSession(ctx, &acp.LoadSessionRequest{SessionID: s.session, Cwd: "/w"})
				assert.ErrorIs(t, err, context.Canceled)
			})
			giveUp()
			require.True(t, givenUp())
			closing <- struct{}{}
			synctest.Wait()
		}
		_, err = s.prompt("hello")
		require.NoError(t, err)
		close(closing)
		s.stop()
	})
}

// cancelledStore is one whose work ends with its context.
type cancelledStore struct{ agent.Store }

func (cancelledStore) List(ctx context.Context, _, _ string, _ int) ([]agent.Info, string, error) {
	return nil, "", ctx.Err()
}

func (cancelledStore) Create(ctx context.Context, _ acp.SessionID, _ string, _ time.Time) (agent.Log, error) {
	return nil, ctx.Err()
}

// What the client gives up is no failure of the store's, and no news for who watches the log.
func TestWhatIsGivenUpIsNoFailure(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	o := agentOptions(nil, &peer{}, nil)
	o.Store, o.Log = cancelledStore{}, log.New(&logged)
	o.NewID = func() acp.SessionID { return "sess_aaaaaaaaaaaaaaaa" }
	a := agent.New(nil, o)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.ListSessions(ctx, &acp.ListSessionsRequest{})
	require.Equal(t, context.Canceled, err)
	_, err = a.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/w"})
	require.Equal(t, context.Canceled, err)
	assert.Empty(t, logged.String())
}
