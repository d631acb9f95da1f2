package agent_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowToClose is a stand whose session is being closed, and what lets that come to an end.
func slowToClose(t *testing.T) (s *stand, release func()) {
	t.Helper()
	held := make(chan struct{})
	s = newStand(t, func(context.Context, agent.Setup) (*agent.Kit, error) {
		return &agent.Kit{
			Model: func(string, string) (loop.Model, error) { return scripted.New(scripted.Say("hi")), nil },
			Close: func() error { <-held; return nil },
		}, nil
	}, &peer{})
	_, err := s.prompt("hello")
	require.NoError(t, err)
	go func() {
		_, err := s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: s.session})
		assert.NoError(t, err)
	}()
	synctest.Wait()
	return s, func() { close(held) }
}

// later runs f aside; the function says whether it has returned.
func later(f func()) (done func() bool) {
	returned := make(chan struct{})
	go func() { f(); close(returned) }()
	synctest.Wait()
	return func() bool {
		synctest.Wait()
		select {
		case <-returned:
			return true
		default:
			return false
		}
	}
}

// A session that is still being closed has its log until it is free, also for who comes third.
func TestNobodyTakesALogThatIsStillHeld(t *testing.T) {
	t.Parallel()
	t.Run("deleted behind a resume", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, release := slowToClose(t)
			resumed := later(func() {
				_, err := s.conn.ResumeSession(s.ctx(), &acp.ResumeSessionRequest{SessionID: s.session, Cwd: "/w"})
				assert.ErrorIs(t, err, acp.ErrCancelled, "it was deleted")
			})
			deleted := later(func() {
				_, err := s.conn.DeleteSession(s.ctx(), &acp.DeleteSessionRequest{SessionID: s.session})
				assert.NoError(t, err)
			})
			assert.False(t, deleted())
			assert.Contains(t, s.store.logs, s.session)
			release()
			assert.True(t, resumed() && deleted())
			assert.Empty(t, s.store.logs)
			s.stop()
		})
	})
	t.Run("loaded behind a resume that was given up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, release := slowToClose(t)
			ctx, giveUp := context.WithCancel(s.ctx())
			resumed := later(func() {
				_, err := s.conn.ResumeSession(ctx, &acp.ResumeSessionRequest{SessionID: s.session, Cwd: "/w"})
				assert.ErrorIs(t, err, context.Canceled)
			})
			giveUp()
			assert.True(t, resumed())
			loaded := later(func() {
				_, err := load(s, s.session)
				assert.NoError(t, err)
			})
			assert.False(t, loaded())
			release()
			assert.True(t, loaded())
			s.stop()
		})
	})
	t.Run("loaded behind a deletion", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, release := slowToClose(t)
			deleted := later(func() {
				_, err := s.conn.DeleteSession(s.ctx(), &acp.DeleteSessionRequest{SessionID: s.session})
				assert.NoError(t, err)
			})
			loaded := later(func() {
				_, err := load(s, s.session)
				assert.ErrorIs(t, err, acp.ErrNotFound)
			})
			assert.False(t, deleted() || loaded())
			release()
			assert.True(t, deleted() && loaded())
			_, err := s.prompt("still there?")
			require.ErrorIs(t, err, acp.ErrNotFound)
			s.stop()
		})
	})
}
