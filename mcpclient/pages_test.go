//go:build unix

package mcpclient

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// pageAt is an elicitation of a page, as -32042 has it.
func pageAt(id string) string {
	return fmt.Sprintf(`{"mode":"url","elicitationId":%q,"message":"Sign in","url":"https://bank.example/%s"}`, id, id)
}

// firstly is a server that wants those pages before its first n calls.
func firstly(n int64, pages ...string) func(*memory, *request) {
	var calls atomic.Int64
	return func(w *memory, r *request) {
		if calls.Add(1) <= n {
			w.refuse(r, pages...)
			return
		}
		w.done(r)
	}
}

// TestPagesGoByTheLoop: a legacy server that wants pages opened first gets the call anew once they are, also from another
// process.
func TestPagesGoByTheLoop(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			serve := firstly(1, pageAt("e1"), pageAt("e2"))
			w, _, all := inMemory(t, EraLegacy, Server{}, Options{Asks: true}, serve)
			j := job(`{"n":7}`)
			_, err := all["quick"].Run(t.Context(), j, nil)
			q := needed(t, err)
			assert.Equal(t, loop.Question{ID: "1/e1", Message: "Sign in", URL: "https://bank.example/e1", State: q.State}, q)
			j = answered(j, q, loop.AnswerAccept, "")
			if elsewhere {
				w, _, all = inMemory(t, EraLegacy, Server{}, Options{Asks: true}, serve)
			}
			_, err = all["quick"].Run(t.Context(), j, nil)
			q = needed(t, err)
			assert.Equal(t, "https://bank.example/e2", q.URL)
			before := len(w.calls())
			r, err := all["quick"].Run(t.Context(), answered(j, q, loop.AnswerAccept, ""), nil)
			require.NoError(t, err)
			assert.Equal(t, "done", text(r))
			calls := w.calls()
			require.Len(t, calls, before+1)
			assert.Contains(t, calls[before], `"arguments":{"n":7}`)
			assert.NotContains(t, calls[before], "inputResponses")
		})
	}
}

func TestPagesThatAreNotOpened(t *testing.T) {
	t.Parallel()
	for _, action := range []loop.AnswerAction{loop.AnswerDecline, loop.AnswerCancel} {
		synctest.Test(t, func(t *testing.T) {
			w, _, all := inMemory(t, EraLegacy, Server{}, Options{Asks: true}, firstly(9, pageAt("e1")))
			_, err := all["quick"].Run(t.Context(), job(`{}`), nil)
			_, err = all["quick"].Run(t.Context(), answered(job(`{}`), needed(t, err), action, ""), nil)
			require.ErrorContains(t, err, "server shop wants the user to open a page first, and they did not: nothing was done")
			assert.Len(t, w.calls(), 1)
		})
	}
}

// The person has agreed to open a page, and is not done there: they are not asked again, and the call is made when they are
// done.
func TestPagesTakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told kept
		o := Options{Asks: true, Completed: func(call, question string) { told.report(loop.Text{Text: call + " " + question}) }}
		var ready atomic.Bool
		w, _, all := inMemory(t, EraLegacy, Server{}, o, func(w *memory, r *request) {
			if ready.Load() {
				w.done(r)
				return
			}
			w.refuse(r, pageAt("e1"))
		})
		w.finish("e1") // of nobody
		_, err := all["quick"].Run(t.Context(), job(`{}`), nil)
		q := needed(t, err)
		begun := time.Now()
		go func() {
			_ = sleep(t.Context(), 3*time.Second)
			ready.Store(true)
			for _, id := range []string{"other", "e1", "e1", ""} {
				w.finish(id)
			}
		}()
		r, err := all["quick"].Run(t.Context(), answered(job(`{}`), q, loop.AnswerAccept, ""), nil)
		require.NoError(t, err)
		assert.Equal(t, "done", text(r))
		assert.Equal(t, 3*time.Second, time.Since(begun))
		assert.Len(t, w.calls(), 4, "at once, after a pause, and when they are done")
		assert.Equal(t, []string{"call_1_1 1/e1"}, told.all())

		// One that is done before the answer comes.
		ready.Store(false)
		j := job(`{}`)
		j.Call.ID = "call_2"
		_, err = all["quick"].Run(t.Context(), j, nil)
		q = needed(t, err)
		w.finish("e1")
		ready.Store(true)
		_, err = all["quick"].Run(t.Context(), answered(j, q, loop.AnswerAccept, ""), nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"call_1_1 1/e1", "call_2 1/e1"}, told.all())
	})
}

func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	t.Run("the same", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, _, all := inMemory(t, EraLegacy, Server{}, Options{Asks: true}, firstly(99, pageAt("e1")))
			_, err := all["quick"].Run(t.Context(), job(`{}`), nil)
			j := answered(job(`{}`), needed(t, err), loop.AnswerAccept, "")
			_, err = all["quick"].Run(t.Context(), j, nil)
			require.ErrorIs(t, err, errPages)
			assert.Len(t, w.calls(), 1+maxRounds)

			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err = all["quick"].Run(ctx, j, nil)
			require.ErrorIs(t, err, context.Canceled)
		})
	})
	t.Run("others", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			w, _, all := inMemory(t, EraLegacy, Server{}, Options{Asks: true}, func(w *memory, r *request) {
				w.refuse(r, pageAt(fmt.Sprint("e", n.Add(1))))
			})
			j := job(`{}`)
			var err error
			for range maxRounds {
				_, err = all["quick"].Run(t.Context(), j, nil)
				j = answered(j, needed(t, err), loop.AnswerAccept, "")
			}
			_, err = all["quick"].Run(t.Context(), j, nil)
			require.ErrorIs(t, err, ErrInput)
			assert.Len(t, w.calls(), maxRounds+1)
		})
	})
}

// Without a loop the pages go to Options.Elicit, and without that, or where they are no pages, the error is the server's.
func TestPagesElsewhere(t *testing.T) {
	t.Parallel()
	answering := func(action string, asked *[]Question) Options {
		return Options{Elicit: func(_ context.Context, q Question) (Answer, error) {
			*asked = append(*asked, q)
			return Answer{Action: action}, nil
		}}
	}
	t.Run("accepted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var asked []Question
			w, c, all := inMemory(t, EraLegacy, Server{}, answering(ActionAccept, &asked), firstly(2, pageAt("e1"), pageAt("")))
			assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
			assert.Equal(t, []Question{
				{Server: "shop", Key: "e1", Mode: ModeURL, Message: "Sign in", URL: "https://bank.example/e1"},
				{Server: "shop", Key: "1/https://bank.example/", Mode: ModeURL, Message: "Sign in", URL: "https://bank.example/"},
			}, asked, "each is asked once")
			assert.Len(t, w.calls(), 3)

			w.serve = firstly(1, pageAt("e2"))
			got, err := c.Call(t.Context(), CallParams{Name: "quick"})
			require.NoError(t, err)
			require.Len(t, got.Input.Questions, 1)
			got, err = c.Call(t.Context(), CallParams{Name: "quick", Responses: map[string]Answer{"e2": {Action: ActionAccept}}})
			require.NoError(t, err)
			assert.Equal(t, "done", text(got.Result))
			assert.NotContains(t, w.calls()[4], "inputResponses")
		})
	})
	t.Run("declined", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var asked []Question
			w, _, all := inMemory(t, EraLegacy, Server{}, answering(ActionDecline, &asked), firstly(2, pageAt("e1")))
			_, err := all["quick"].Run(t.Context(), job(`{}`), nil)
			require.ErrorContains(t, err, "they did not")
			assert.Len(t, w.calls(), 1)
		})
	})
	for name, c := range map[string]struct {
		era   string
		o     Options
		pages []string
	}{
		"nobody to ask":      {EraLegacy, Options{}, []string{pageAt("e1")}},
		"a modern server":    {EraModern, Options{Asks: true}, []string{pageAt("e1")}},
		"no pages":           {EraLegacy, Options{Asks: true}, nil},
		"a form":             {EraLegacy, Options{Asks: true}, []string{`{"mode":"form","message":"?"}`}},
		"a page without URL": {EraLegacy, Options{Asks: true}, []string{`{"mode":"url","elicitationId":"e"}`}},
		"nonsense":           {EraLegacy, Options{Asks: true}, []string{`7`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, _, all := inMemory(t, c.era, Server{}, c.o, firstly(9, c.pages...))
				_, err := all["quick"].Run(t.Context(), job(`{}`), nil)
				var rpc *RPCError
				require.ErrorAs(t, err, &rpc)
				assert.EqualValues(t, codePages, rpc.Code)
				assert.Len(t, w.calls(), 1)
			})
		})
	}
}

// The page that a legacy server asks for in the middle of a call is told to be done too.
func TestPagesInMidCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told kept
		o := Options{Asks: true, Completed: func(call, question string) { told.report(loop.Text{Text: call + " " + question}) }}
		_, _, all := inMemory(t, EraLegacy, Server{}, o, func(w *memory, r *request) {
			w.says(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":` + pageAt("e1") + `}`)
			_ = sleep(context.Background(), time.Second)
			w.finish("e1")
			w.progress(r, `"progress":1`)
			w.done(r)
		})
		var shown kept
		_, err := all["quick"].Run(t.Context(), job(`{}`), shown.report)
		q := needed(t, err)
		assert.Equal(t, loop.Question{ID: "1", Message: "Sign in", URL: "https://bank.example/e1", Fleeting: true}, q)
		r, err := all["quick"].Run(t.Context(), answered(job(`{}`), q, loop.AnswerAccept, ""), shown.report)
		require.NoError(t, err)
		assert.Equal(t, "done", text(r))
		assert.Equal(t, []string{"call_1_1 1"}, told.all())
		assert.Equal(t, []string{"1"}, shown.all(), "to who runs the call now")
	})
}

func TestForgottenPages(t *testing.T) {
	t.Parallel()
	var p openPages
	for i := range maxOpened + 5 {
		p.add(fmt.Sprint(i), "c", "q")
	}
	p.add("7", "c", "q")
	assert.Len(t, p.list, maxOpened)
}
