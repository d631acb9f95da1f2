package barista

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func collect(t *testing.T, stream iter.Seq2[loop.Chunk, error]) ([]string, *loop.Reply, error) {
	t.Helper()
	var words []string
	for chunk, err := range stream {
		if err != nil {
			return words, nil, err
		}
		if chunk.Kind == loop.ChunkReply {
			return words, chunk.Reply, nil
		}
		assert.Equal(t, loop.ChunkText, chunk.Kind)
		words = append(words, chunk.Text)
	}
	return words, nil, errors.New("the stream ended without a reply")
}

func TestStreamsWordByWord(t *testing.T) {
	t.Parallel()
	words, got, err := collect(t, New().Stream(t.Context(), loop.Request{}))
	require.NoError(t, err)
	assert.Equal(t, say(notConnected+" "+howToConfigure), *got)
	assert.Equal(t, loop.TextOf(got.Message.Content), strings.Join(words, ""))
	assert.Len(t, words, len(strings.Fields(notConnected+" "+howToConfigure)))
	assert.Equal(t, loop.Usage{}, got.Usage)
	assert.Equal(t, []string{" ", "a  ", "b\n", "c"}, chunks(" a  b\nc"))
}

func TestStreamsACallWithoutText(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	c.messages = []loop.Message{{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "a large latte"}}}}
	words, got, err := collect(t, New().Stream(t.Context(), c.request()))
	require.NoError(t, err)
	assert.Empty(t, words)
	assert.Equal(t, loop.Reply{
		Message: loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{
			loop.NewCall("", "mcp_read", `{"server":"kiosk","uri":"menu://today"}`),
		}},
		Stop: loop.StopEndTurn,
	}, *got)
}

func TestStreamStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	var words int
	var last error
	for chunk, err := range New().Stream(ctx, loop.Request{}) {
		last = err
		if err == nil && chunk.Kind == loop.ChunkText {
			words++
			cancel(why)
		}
	}
	assert.Equal(t, 1, words)
	require.ErrorIs(t, last, why)
	_, _, err := collect(t, New().Stream(ctx, loop.Request{}))
	require.ErrorIs(t, err, why)
}

func TestStreamStopsWithItsConsumer(t *testing.T) {
	t.Parallel()
	n := 0
	for _, err := range New().Stream(t.Context(), loop.Request{}) {
		require.NoError(t, err)
		n++
		break
	}
	assert.Equal(t, 1, n)
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewWith(Options{Delay: func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}})
		began := time.Now()
		words, _, err := collect(t, m.Stream(t.Context(), loop.Request{}))
		require.NoError(t, err)
		assert.Equal(t, time.Duration(len(words)-1)*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		words, _, err = collect(t, m.Stream(ctx, loop.Request{}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, words, 3)
	})
}
