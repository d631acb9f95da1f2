package agent_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
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
