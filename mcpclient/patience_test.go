package mcpclient

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLimited: the time that a person takes does not count.
func TestLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a asking
		begun := time.Now()
		ctx, cancel := limited(t.Context(), time.Minute, ErrTimeout, &a)
		defer cancel()
		require.NoError(t, a.ask(func() error { return sleep(t.Context(), time.Hour) }))
		require.NoError(t, ctx.Err())
		require.NoError(t, a.ask(func() error { return sleep(t.Context(), 30*time.Second) }))
		after := time.Since(begun)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrTimeout)
		left := time.Since(begun) - after
		assert.GreaterOrEqual(t, left, time.Minute)
		assert.LessOrEqual(t, left, 2*time.Minute)

		ctx, cancel = limited(t.Context(), time.Minute, ErrTimeout, &a)
		defer cancel()
		require.ErrorIs(t, sleep(ctx, 2*time.Minute), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), ErrTimeout)

		ctx, cancel = limited(t.Context(), time.Minute, ErrTimeout, &a)
		cancel()
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
	})
}

// TestTurn: what several need is done by one, and a failure counts for those who came before it.
func TestTurn(t *testing.T) {
	t.Parallel()
	turn := newTurn()
	since := turn.now()
	n := 0
	do := func(err error) func() error { return func() error { n++; return err } }
	require.ErrorIs(t, turn.take(t.Context(), since, do(ErrAuth)), ErrAuth)
	require.ErrorIs(t, turn.take(t.Context(), since, do(nil)), ErrAuth, "it was tried since")
	assert.Equal(t, 1, n)
	since = turn.now()
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, turn.take(ctx, since, func() error { cancel(); return ErrAuth }), context.Canceled)
	require.NoError(t, turn.take(t.Context(), since, do(nil)), "who gives up has not tried")
	require.NoError(t, turn.take(t.Context(), since, do(ErrAuth)))
	assert.Equal(t, 2, n)
	require.ErrorIs(t, turn.take(ctx, turn.now(), do(nil)), context.Canceled)
	assert.Equal(t, 2, n)
}
