//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// answered is a job with more answers, as the loop makes it: the question's id and state come back with each.
func answered(j loop.Job, q loop.Question, action loop.AnswerAction, content string) loop.Job {
	a := loop.Answer{ID: q.ID, Action: action, State: q.State}
	if content != "" {
		a.Content = json.RawMessage(content)
	}
	j.Answers = append(j.Answers, a)
	return j
}

func needed(t *testing.T, err error) loop.Question {
	t.Helper()
	var n *loop.NeedsAnswer
	require.ErrorAs(t, err, &n)
	return n.Question
}

// The questions of a modern server go to the loop one by one, and the call goes on once all are answered: in another
// process too, which knows nothing but what the log has.
func TestQuestionsGoByTheLoop(t *testing.T) {
	t.Parallel()
	s := asker(
		ask(`{"b":`+sizeForm+`,"a":{"method":"elicitation/create","params":{"mode":"url","message":"Pay","url":"https://pay.example/1"}}}`, `"<s1>"`),
		ask("", `"busy"`),
		ask(`{"b":{"method":"elicitation/create","params":{"message":"Sure?"}}}`, ""),
	).start(t)
	// fresh is the tool of a client that has made no call.
	fresh := func() *Tool {
		_, all := s.connected(t, Options{Asks: true})
		return all["echo"]
	}
	j := job(`{"drink":"latte"}`)
	first := fresh()
	_, err := first.Run(t.Context(), j, nil)
	q := needed(t, err)
	assert.Equal(t, "Which size?", q.Message)
	assert.JSONEq(t, sizeSchema, string(q.Schema))
	assert.False(t, q.Fleeting)
	j = answered(j, q, loop.AnswerAccept, `{"size":"L"}`)
	_, err = first.Run(t.Context(), j, nil)
	q = needed(t, err)
	assert.Equal(t, "https://pay.example/1", q.URL)
	require.Len(t, s.all("tools/call"), 1, "the server is not asked before all is answered")

	j = answered(j, q, loop.AnswerAccept, "")
	_, err = fresh().Run(t.Context(), j, nil)
	q = needed(t, err)
	assert.Equal(t, "Sure?", q.Message, "what has the key of an earlier question is another one")
	j = answered(j, q, loop.AnswerDecline, "")
	r, err := fresh().Run(t.Context(), j, nil)
	require.NoError(t, err)
	assert.Equal(t, "done", text(r))

	calls := s.all("tools/call")
	require.Len(t, calls, 4)
	assert.JSONEq(t, `{"elicitation":{"form":{},"url":{}}}`, capsOf(t, calls[0]))
	assert.Nil(t, calls[0].Params.State)
	assert.Equal(t, "<s1>", *calls[1].Params.State)
	//nolint:testifylint // the digits must be those of the schema
	assert.Equal(t, `{"a":{"action":"accept"},"b":{"action":"accept","content":{"n":12345678901234567890,"size":"L"}}}`, string(calls[1].Params.Responses))
	assert.Equal(t, "busy", *calls[2].Params.State)
	assert.Nil(t, calls[2].Params.Responses)
	assert.Nil(t, calls[3].Params.State)
	assert.JSONEq(t, `{"b":{"action":"decline"}}`, string(calls[3].Params.Responses))
	for _, m := range calls {
		assert.JSONEq(t, `{"drink":"latte"}`, string(m.Params.Arguments))
	}
}

func TestQuestionsByTheLoopFail(t *testing.T) {
	t.Parallel()
	q := `{"k":` + sizeForm + `}`
	many := make([]string, 50)
	for i := range many {
		many[i] = ask(q, "")
	}
	t.Run("without end", func(t *testing.T) {
		t.Parallel()
		s := asker(many...).start(t)
		_, all := s.connected(t, Options{Asks: true})
		j := job(`{}`)
		for range maxRounds - 1 {
			_, err := all["echo"].Run(t.Context(), j, nil)
			j = answered(j, needed(t, err), loop.AnswerAccept, `{"size":"S"}`)
		}
		_, err := all["echo"].Run(t.Context(), j, nil)
		j = answered(j, needed(t, err), loop.AnswerAccept, `{"size":"S"}`)
		_, err = all["echo"].Run(t.Context(), j, nil)
		require.ErrorIs(t, err, ErrInput)
		assert.Len(t, s.all("tools/call"), maxRounds)
	})
	t.Run("an answer that does not fit", func(t *testing.T) {
		t.Parallel()
		s := asker(many...).start(t)
		_, all := s.connected(t, Options{Asks: true})
		_, err := all["echo"].Run(t.Context(), job(`{}`), nil)
		_, err = all["echo"].Run(t.Context(), answered(job(`{}`), needed(t, err), loop.AnswerAccept, `{"size":"M"}`), nil)
		require.ErrorContains(t, err, "does not fit the form of server shop")
		assert.Len(t, s.all("tools/call"), 1)
	})
	t.Run("a state that is none", func(t *testing.T) {
		t.Parallel()
		s := asker().start(t)
		_, all := s.connected(t, Options{Asks: true})
		_, err := all["echo"].Run(t.Context(), answered(job(`{}`), loop.Question{ID: "1/k", State: json.RawMessage(`7`)}, loop.AnswerAccept, ""), nil)
		require.ErrorContains(t, err, "cannot be read any more")
		assert.Empty(t, s.all("tools/call"))
	})
}

// A server of the handshake era asks while it works on the call. The call goes on meanwhile, and ends with the turn; an
// answer that comes in another process is too late.
func TestLegacyQuestionsGoByTheLoop(t *testing.T) {
	t.Parallel()
	replies := make(chan string, 4)
	s := (&web{Legacy: true, On: map[string]func(http.ResponseWriter, *got){
		"": func(w http.ResponseWriter, m *got) {
			replies <- m.Body
			w.WriteHeader(http.StatusAccepted)
		},
		"tools/call": func(w http.ResponseWriter, m *got) {
			for _, params := range []string{`{"message":"Which size?","requestedSchema":` + sizeSchema + `}`, `{"message":"Sure?"}`} {
				stream(w, m, `data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":`+params+"}\n\n")
				text := <-replies
				replies <- text
				if text == "" {
					return
				}
				<-replies
			}
			stream(w, m, "data: "+doneResult+"\n\n")
		},
	}}).start(t)
	_, all := s.connected(t, Options{Asks: true})
	tool := all["echo"]
	j := job(`{}`)
	turn, end := context.WithCancel(t.Context())
	defer end()
	_, err := tool.Run(turn, j, nil)
	q := needed(t, err)
	assert.True(t, q.Fleeting)
	assert.JSONEq(t, sizeSchema, string(q.Schema))
	_, other := s.connected(t, Options{Asks: true})
	j = answered(j, q, loop.AnswerAccept, `{"size":"L"}`)
	_, err = other["echo"].Run(t.Context(), j, nil)
	require.ErrorContains(t, err, "who asked is gone")
	_, err = tool.Run(turn, j, nil)
	q = needed(t, err)
	assert.Equal(t, "Sure?", q.Message)
	r, err := tool.Run(turn, answered(j, q, loop.AnswerDecline, ""), nil)
	require.NoError(t, err)
	assert.Equal(t, "done", text(r))
	_, err = tool.Run(turn, answered(j, q, loop.AnswerDecline, ""), nil)
	require.ErrorContains(t, err, "who asked is gone", "the call is over")

	_, err = tool.Run(turn, job(`{}`), nil)
	needed(t, err)
	end() // nobody answers
	replies <- ""
}

// A server of the handshake era that asks about no call of the loop's, as while it makes a prompt, asks the person aside.
func TestLegacyQuestionsAside(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		`"result":{"action":"decline"}`: {Asks: true, Elicit: func(_ context.Context, q Question) (Answer, error) {
			assert.Equal(t, "Sure?", q.Message)
			return Answer{Action: ActionDecline}, nil
		}},
		`"result":{"action":"cancel"}`: {Asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies := make(chan string, 1)
			s := (&web{Legacy: true, On: map[string]func(http.ResponseWriter, *got){
				"": func(w http.ResponseWriter, m *got) {
					if strings.Contains(m.Body, `"id":7`) {
						replies <- m.Body
					}
					w.WriteHeader(http.StatusAccepted)
				},
				"prompts/list": func(w http.ResponseWriter, m *got) {
					stream(w, m, `data: {"jsonrpc":"2.0","id":ID,"result":{"prompts":[{"name":"p"}]}}`+"\n\n")
				},
				"prompts/get": func(w http.ResponseWriter, m *got) {
					stream(w, m, `data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Sure?"}}`+"\n\n")
					answer := <-replies
					assert.Contains(t, answer, name)
					stream(w, m, `data: {"jsonrpc":"2.0","id":ID,"result":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}`+"\n\n")
				},
			}}).start(t)
			blocks, err := open(t, s.server(), o).Prompt(t.Context(), "p", nil)
			require.NoError(t, err)
			assert.Equal(t, "hi", loop.TextOf(blocks))
		})
	}
}
