//go:build unix

package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

const sizeSchema = `{"type":"object","properties":{"size":{"type":"string","enum":["S","L"],"default":"S"},` +
	`"n":{"type":"integer","default":12345678901234567890}},"required":["size"]}`

func ask(requests, state string) string {
	parts := []string{`"resultType":"input_required"`}
	if requests != "" {
		parts = append(parts, `"inputRequests":`+requests)
	}
	if state != "" {
		parts = append(parts, `"requestState":`+state)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

const sizeForm = `{"method":"elicitation/create","params":{"mode":"form","message":"Which size?","requestedSchema":` + sizeSchema + `}}`

// asker is a modern server whose tool asks, round by round, and then is done.
func asker(rounds ...string) *web {
	var n atomic.Int64
	next := func(w http.ResponseWriter, m *got) {
		i := int(n.Add(1)) - 1
		switch {
		case i < len(rounds):
			result(w, m, rounds[i])
		case m.Method == "resources/read":
			result(w, m, `{"contents":[{"uri":"x:","text":"done"}]}`)
		case m.Method == "prompts/get":
			result(w, m, `{"messages":[{"role":"user","content":{"type":"text","text":"done"}}]}`)
		default:
			result(w, m, `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
		}
	}
	return &web{On: map[string]func(http.ResponseWriter, *got){
		"tools/call": next, "resources/read": next, "prompts/get": next,
		"prompts/list": func(w http.ResponseWriter, m *got) { result(w, m, `{"prompts":[{"name":"p"}]}`) },
	}}
}

// TestRounds is the end of case C033: a request that needs input is repeated under a new id, with the answers, and with
// the state to the byte or without one.
func TestRounds(t *testing.T) {
	t.Parallel()
	state := `"<ü \u2028 \"x\"\\ > \ud83d"`
	s := asker(
		ask(`{"b":`+sizeForm+`,"a":{"method":"elicitation/create","params":{"mode":"url","message":"Pay","url":"https://pay.example/1"}}}`, state),
		ask("", `""`),
		ask(`{"c":{"method":"elicitation/create","params":{"message":"Sure?"}}}`, ""),
	).start(t)
	var questions []Question
	c, all := s.connected(t, Options{Elicit: func(_ context.Context, q Question) (Answer, error) {
		questions = append(questions, q)
		if q.Key == "c" {
			return Answer{Action: ActionDecline, Content: json.RawMessage(`{"x":1}`)}, nil
		}
		return Answer{Action: ActionAccept}, nil
	}})
	assert.Equal(t, "done", text(run(t, all["echo"], `{"drink":"latte"}`)))
	assert.Equal(t, []Question{
		{Server: "shop", Key: "b", Mode: ModeForm, Message: "Which size?", Schema: json.RawMessage(sizeSchema)},
		{Server: "shop", Key: "a", Mode: ModeURL, Message: "Pay", URL: "https://pay.example/1"},
		{Server: "shop", Key: "c", Mode: ModeForm, Message: "Sure?"},
	}, questions)

	calls := s.all("tools/call")
	require.Len(t, calls, 4)
	ids := map[string]bool{}
	for _, m := range calls {
		ids[string(m.ID)] = true
		assert.JSONEq(t, `{"drink":"latte"}`, string(m.Params.Arguments))
		assert.JSONEq(t, `{"elicitation":{"form":{},"url":{}}}`, capsOf(t, m))
		assert.NotContains(t, m.Body, retryKey)
		assert.Equal(t, modernVersion, m.Header.Get("Mcp-Protocol-Version"))
	}
	assert.Len(t, ids, 4)
	assert.Nil(t, calls[0].Params.State)
	assert.Nil(t, calls[0].Params.Responses)
	var want string
	require.NoError(t, json.Unmarshal([]byte(state), &want))
	require.NotNil(t, calls[1].Params.State)
	assert.Equal(t, want, *calls[1].Params.State)
	assert.Contains(t, calls[1].Body, ` \ud83d"`, "half of a pair, which no decoded string can hold")
	assert.Contains(t, string(calls[1].Params.Responses), `"n":12345678901234567890`)
	assert.JSONEq(t, `{"a":{"action":"accept"},"b":{"action":"accept","content":{"n":12345678901234567890,"size":"S"}}}`,
		string(calls[1].Params.Responses))
	require.NotNil(t, calls[2].Params.State, "an empty state is one")
	assert.Empty(t, *calls[2].Params.State)
	assert.Nil(t, calls[2].Params.Responses)
	assert.Nil(t, calls[3].Params.State)
	assert.JSONEq(t, `{"c":{"action":"decline"}}`, string(calls[3].Params.Responses))
	assert.Empty(t, c.conn.retries)
}

// capsOf are the capabilities that a request declares.
func capsOf(t *testing.T, m *got) string {
	t.Helper()
	return string(m.Params.Meta["io.modelcontextprotocol/clientCapabilities"])
}

func TestRoundsElsewhere(t *testing.T) {
	t.Parallel()
	accept := Options{Elicit: func(context.Context, Question) (Answer, error) { return Answer{Action: ActionAccept}, nil }}
	for name, do := range map[string]func(*Client) (loop.Blocks, error){
		"resources/read": func(c *Client) (loop.Blocks, error) { return c.ReadResource(t.Context(), "x:") },
		"prompts/get":    func(c *Client) (loop.Blocks, error) { return c.Prompt(t.Context(), "p", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, asks := range []bool{false, true} { // the loop has only what is about its calls
				s := asker(ask(`{"k":`+sizeForm+`}`, `"s"`)).start(t)
				o := accept
				o.Asks = asks
				c := open(t, s.server(), o)
				_, err := do(c)
				require.NoError(t, err)
				calls := s.all(name)
				require.Len(t, calls, 2)
				assert.Equal(t, "s", *calls[1].Params.State)
				assert.Contains(t, string(calls[1].Params.Responses), `"action":"accept"`)
			}
		})
	}
}

func TestRoundsFail(t *testing.T) {
	t.Parallel()
	q := `{"k":` + sizeForm + `}`
	many := make([]string, 50)
	for i := range many {
		many[i] = ask(q, "")
	}
	refused := errors.New("nobody is there")
	for name, c := range map[string]struct {
		rounds []string
		answer Answer
		err    error // of the hook
		nobody bool
		want   string
		is     error
		calls  int
	}{
		"nobody to ask":     {rounds: []string{ask(q, `"s"`)}, nobody: true, want: "call again with all that is needed as arguments", is: ErrInput, calls: 1},
		"without end":       {rounds: many, answer: Answer{Action: ActionAccept}, want: "it has asked 10 times and is not done", is: ErrInput, calls: 10},
		"the hook fails":    {rounds: []string{ask(q, "")}, err: refused, want: "asking what server shop wants to know: nobody is there", is: refused, calls: 1},
		"an odd answer":     {rounds: []string{ask(q, "")}, answer: Answer{Action: "ok"}, want: "it must be accept, decline or cancel", calls: 1},
		"it does not fit":   {rounds: []string{ask(q, "")}, answer: Answer{Action: ActionAccept, Content: json.RawMessage(`{"size":"M"}`)}, want: "does not fit the form", calls: 1},
		"it is no object":   {rounds: []string{ask(q, "")}, answer: Answer{Action: ActionAccept, Content: json.RawMessage(`[1]`)}, want: "is no object", calls: 1},
		"neither of both":   {rounds: []string{ask("", "")}, want: "does not say which", is: ErrInvalid, calls: 1},
		"an empty object":   {rounds: []string{ask("{}", "")}, want: "does not say which", is: ErrInvalid, calls: 1},
		"sampling":          {rounds: []string{ask(`{"k":{"method":"sampling/createMessage","params":{}}}`, "")}, want: "sampling/createMessage", is: ErrInput, calls: 1},
		"a mode of its own": {rounds: []string{ask(`{"k":{"method":"elicitation/create","params":{"mode":"voice"}}}`, "")}, want: `unknown mode "voice"`, is: ErrInput, calls: 1},
		"no URL":            {rounds: []string{ask(`{"k":{"method":"elicitation/create","params":{"mode":"url"}}}`, "")}, want: "has none", is: ErrInvalid, calls: 1},
		"no question":       {rounds: []string{ask(`{"k":7}`, "")}, want: "what it asks for", is: ErrInvalid, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Elicit: func(context.Context, Question) (Answer, error) { return c.answer, c.err }}
			if c.nobody {
				o.Elicit = nil
			}
			s := asker(c.rounds...).start(t)
			_, all := s.connected(t, o)
			_, err := all["echo"].Run(t.Context(), job(`{}`), nil)
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			assert.Len(t, s.all("tools/call"), c.calls)
			if c.nobody {
				assert.JSONEq(t, `{}`, capsOf(t, s.all("tools/call")[0]), "nothing is declared")
			}
		})
	}
	t.Run("a list that asks", func(t *testing.T) {
		t.Parallel()
		s := &web{}
		s.On = map[string]func(http.ResponseWriter, *got){
			"tools/list": func(w http.ResponseWriter, m *got) { result(w, m, ask(q, "")) },
		}
		c := open(t, s.start(t).server(), Options{})
		_, err := c.Tools(t.Context())
		require.ErrorIs(t, err, ErrInvalid)
	})
	t.Run("given up between rounds", func(t *testing.T) {
		t.Parallel()
		rounds := make([]string, 50)
		for i := range rounds {
			rounds[i] = ask("", `"busy"`)
		}
		s := asker(rounds...).start(t)
		_, all := s.connected(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		_, err := all["echo"].Run(ctx, job(`{}`), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, len(s.all("tools/call")), 5, "it waits longer each time")
	})
}

// TestCallLater: a call that needs input is gone on with by another client, later, from nothing but the questions, the
// answers and the state.
func TestCallLater(t *testing.T) {
	t.Parallel()
	s := asker(ask(`{"k":`+sizeForm+`}`, `"s1"`)).start(t)
	first, err := Connect(t.Context(), s.server(), Options{Elicit: func(context.Context, Question) (Answer, error) {
		return Answer{}, errors.New("Call asks nobody")
	}})
	require.NoError(t, err)
	p := CallParams{Name: "echo", Args: json.RawMessage(`{"drink":"latte"}`), Meta: map[string]any{"dev.cartagent/idempotencyKey": "k1"}}
	out, err := first.Call(t.Context(), p)
	require.NoError(t, err)
	require.NotNil(t, out.Input)
	require.NoError(t, first.Close())
	kept, err := json.Marshal(out.Input) // the log has it
	require.NoError(t, err)

	var in Input
	require.NoError(t, json.Unmarshal(kept, &in))
	require.Len(t, in.Questions, 1)
	a, err := in.Questions[0].Fill(Answer{Action: ActionAccept, Content: json.RawMessage(`{"size":"L","n":1}`)})
	require.NoError(t, err)
	p.Responses, p.State = map[string]Answer{in.Questions[0].Key: a}, in.State
	later := open(t, s.server(), Options{})
	out, err = later.Call(t.Context(), p)
	require.NoError(t, err)
	assert.Nil(t, out.Input)
	assert.Equal(t, loop.Blocks{loop.Text{Text: "done"}}, out.Result.Content)
	calls := s.all("tools/call")
	require.Len(t, calls, 2)
	assert.Equal(t, "s1", *calls[1].Params.State)
	assert.JSONEq(t, `{"k":{"action":"accept","content":{"size":"L","n":1}}}`, string(calls[1].Params.Responses))
	assert.JSONEq(t, `"k1"`, string(calls[1].Params.Meta["dev.cartagent/idempotencyKey"]))
	assert.Equal(t, calls[0].Params.Arguments, calls[1].Params.Arguments)
}

// TestLegacyQuestions: a legacy server asks while a call is under way, and the person's time does not count.
func TestLegacyQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params string
		answer Answer
		err    error
		want   string // a part of what the server gets
	}{
		"accepted":   {`{"message":"Which size?","requestedSchema":` + sizeSchema + `}`, Answer{Action: ActionAccept, Content: json.RawMessage(`{"size":"L"}`)}, nil, `"result":{"action":"accept","content":{"n":12345678901234567890,"size":"L"}}`},
		"empty":      {`{"message":"Which size?","requestedSchema":` + sizeSchema + `}`, Answer{Action: ActionAccept}, nil, `"content":{"n":12345678901234567890,"size":"S"}`},
		"declined":   {`{"message":"Which size?","requestedSchema":` + sizeSchema + `}`, Answer{Action: ActionDecline, Content: json.RawMessage(`{"x":1}`)}, nil, `"result":{"action":"decline"}`},
		"a page":     {`{"mode":"url","message":"Pay","url":"https://pay.example/1","elicitationId":"e"}`, Answer{Action: ActionAccept}, nil, `"result":{"action":"accept"}`},
		"no fit":     {`{"message":"Which size?","requestedSchema":` + sizeSchema + `}`, Answer{Action: ActionAccept, Content: json.RawMessage(`{"size":7}`)}, nil, `"error":{"code":-32603`},
		"it fails":   {`{"message":"Which size?"}`, Answer{}, errors.New("secret"), `"message":"the question could not be answered"`},
		"odd params": {`{"mode":"url","message":"Pay"}`, Answer{}, nil, `"error":{"code":-32602`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered := make(chan string, 1)
			s := (&web{Legacy: true, On: map[string]func(http.ResponseWriter, *got){
				"": func(w http.ResponseWriter, m *got) {
					answered <- m.Body
					w.WriteHeader(http.StatusAccepted)
				},
				"tools/call": func(w http.ResponseWriter, m *got) {
					stream(w, m, `data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":`+c.params+"}\n\n")
					text := <-answered
					answered <- text
					stream(w, m, "data: "+doneResult+"\n\n")
				},
			}}).start(t)
			server := s.server()
			server.Timeout = time.Second
			open(t, server, Options{})
			client := open(t, server, Options{Elicit: func(ctx context.Context, q Question) (Answer, error) {
				assert.Equal(t, "shop", q.Server)
				if strings.Contains(c.params, "requestedSchema") {
					assert.True(t, bytes.Equal([]byte(sizeSchema), q.Schema), "%s", q.Schema)
				}
				if name == "accepted" { // slowly
					if err := sleep(ctx, 1500*time.Millisecond); err != nil {
						return Answer{}, fmt.Errorf("waiting: %w", err)
					}
				}
				return c.answer, c.err
			}})
			assert.Equal(t, "done", text(run(t, tools(t, client)["echo"], `{}`)))
			got := <-answered
			assert.Contains(t, got, c.want)
			assert.NotContains(t, got, "secret")
			assert.Contains(t, s.all(methodInitialize)[1].Body, `"elicitation":{"form":{},"url":{}}`)
			assert.NotContains(t, s.all(methodInitialize)[0].Body, `elicitation`)
		})
	}
}

// TestCloseWhileAsked: the end of the client ends the asking.
func TestCloseWhileAsked(t *testing.T) {
	t.Parallel()
	s := (&web{Legacy: true, On: map[string]func(http.ResponseWriter, *got){
		"tools/call": func(w http.ResponseWriter, m *got) {
			stream(w, m, `data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Sure?"}}`+"\n\n")
			<-m.Context().Done()
		},
	}}).start(t)
	asked := make(chan struct{})
	c, err := Connect(t.Context(), s.server(), Options{Elicit: func(ctx context.Context, _ Question) (Answer, error) {
		close(asked)
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}})
	require.NoError(t, err)
	echo := tools(t, c)["echo"]
	failed := make(chan error)
	go func() {
		_, err := echo.Run(t.Context(), job(`{}`), nil)
		failed <- err
	}()
	<-asked
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-failed, ErrClosed)
}
