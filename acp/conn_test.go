package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInitializeComesFirst(t *testing.T) {
	t.Parallel()
	const right = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`
	const result = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`
	w := connectAs(t, func(*ClientConn) Agent { return &fullAgent{} }, Options{})
	for _, method := range []string{"session/new", "session/prompt", "session/load", "logout", "_ext/do"} {
		message := refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"sessionId":"s","cwd":"/","prompt":[]}}`), "1", CodeInvalidRequest)
		assert.Contains(t, message, "initialize first")
	}
	for _, params := range []string{
		``, `,"params":{}`, `,"params":null`, `,"params":[]`, `,"params":{"protocolVersion":"1"}`, `,"params":{"protocolVersion":1.5}`,
		`,"params":{"protocolVersion":null}`, `,"params":{"protocolVersion":{}}`, `,"params":{"protocolVersion":1e30}`,
	} {
		message := refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize"`+params+`}`), "1", CodeInvalidParams)
		assert.Less(t, len(message), 120)
	}
	refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`), "1", CodeInvalidRequest)
	assert.JSONEq(t, result, w.ask(right))
	w.probe()
	assert.JSONEq(t, result, w.ask(right), "once more")
	refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`), "1", CodeInvalidParams)
	w.probe()
}

// Which version to answer is the agent's to say, whatever was asked for.
func TestVersionsArePassedOn(t *testing.T) {
	t.Parallel()
	var asked []ProtocolVersion
	w := connect(t, &agentStub{initialize: func(_ context.Context, r *InitializeRequest) (*InitializeResponse, error) {
		asked = append(asked, r.ProtocolVersion)
		if r.ProtocolVersion == 3 {
			return nil, fmt.Errorf("cannot start: %w", ErrAuth)
		}
		return &InitializeResponse{ProtocolVersion: LatestVersion}, nil
	}}, Options{})
	message := refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":3}}`), "1", CodeAuthRequired)
	assert.Equal(t, "cannot start: Authentication required", message)
	refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`), "1", CodeInvalidRequest)
	for _, version := range []string{"0", "99", "-1", "1"} {
		answer := w.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + version +
			`,"clientCapabilities":{"zoom":{"x":1},"fs":{"readTextFile":true,"smell":1},"terminal":"yes"},"more":[]}}`)
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, answer)
	}
	assert.Equal(t, []ProtocolVersion{3, 0, 99, -1, 1}, asked)
}

// turns is an agent's bookkeeping, as small as it can be.
type turns struct {
	mu      sync.Mutex
	waiting map[SessionID]chan struct{}
}

func (r *turns) prompt(p *PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[p.SessionID] != nil {
		return nil, ErrBusy
	}
	cancelled := make(chan struct{})
	r.waiting[p.SessionID] = cancelled
	return func(ctx context.Context) (*PromptResponse, error) {
		select {
		case <-cancelled:
		case <-ctx.Done():
			return nil, errors.New("the cancel got lost")
		}
		return &PromptResponse{StopReason: StopCancelled}, nil
	}, nil
}

func (r *turns) cancel(n *CancelNotification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.waiting[n.SessionID]; c != nil {
		close(c)
		delete(r.waiting, n.SessionID)
	}
}

func TestCancelFindsItsPrompt(t *testing.T) {
	t.Parallel()
	r := &turns{waiting: make(map[SessionID]chan struct{})}
	w := ready(t, &agentStub{prompt: r.prompt, cancel: r.cancel}, Options{})
	for i := range 2000 {
		w.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
`, i))
		require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"cancelled"}}`, i), w.next())
	}
	w.probe()
}

// An id that is in use is refused before the request reserves anything, and is free again after the answer.
func TestIDInUse(t *testing.T) {
	t.Parallel()
	r := &turns{waiting: make(map[SessionID]chan struct{})}
	w := ready(t, &agentStub{prompt: r.prompt, cancel: r.cancel}, Options{})
	prompt := func(id, session string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/prompt","params":{"sessionId":"` + session + `","prompt":[]}}`
	}
	cancel := func(session string) string {
		return `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + session + `"}}`
	}
	for _, id := range []string{"7", "-7", "null", `"7"`} {
		w.send(prompt(id, "a"))
		refused(t, w.ask(prompt(id, "b")), id, CodeInvalidRequest)
		w.probe()
		w.send(prompt("8", "b"), cancel("b")) // b was not reserved by what was refused
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":8,"result":{"stopReason":"cancelled"}}`, w.next())
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"stopReason":"cancelled"}}`, w.ask(cancel("a")))
	}
	message := parse(t, func() string { w.send(prompt("1", "a")); return w.ask(prompt("2", "a")) }())
	assert.JSONEq(t, `{"kind":"busy"}`, string(message.Error.Data))
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`, w.ask(cancel("a")))
}

// What a turn sends comes out before its answer, however slowly it is read.
func TestUpdatesComeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	const count = 300
	agent := &agentStub{}
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		for i := range count {
			if err := agent.say(ctx, strconv.Itoa(i)); err != nil {
				return "", err
			}
		}
		return StopEndTurn, nil
	})
	agentEnd, clientEnd := Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(t.Context()), agentEnd, func(c *ClientConn) Agent { agent.client = c; return agent }, Options{})
	}()
	// An end of a pipe that is read only here, so every write waits for this.
	slow := &wire{t: t, end: clientEnd, lines: make(chan string)}
	lines := newLineReader(clientEnd)
	slow.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	lines(t)
	for run := range 5 {
		slow.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
		for i := range count {
			require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",
				"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}`, i), lines(t), "run %d", run)
		}
		require.JSONEq(t, `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`, lines(t))
	}
	require.NoError(t, clientEnd.Close())
	require.NoError(t, <-served)
}

func TestWritesDoNotMix(t *testing.T) {
	t.Parallel()
	const workers, count = 8, 200
	agent := &agentStub{}
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for range count {
					assert.NoError(t, agent.say(ctx, strings.Repeat(strconv.Itoa(i), 1+i*1000)))
				}
			})
		}
		all.Wait()
		return StopEndTurn, nil
	})
	w := ready(t, agent, Options{})
	w.send(askPrompt)
	for range workers * count {
		require.Contains(t, w.next(), `"method":"session/update"`)
	}
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`, w.next())
}

func TestThenComesBehindTheAnswer(t *testing.T) {
	t.Parallel()
	for run := range 200 {
		agent := &agentStub{}
		agent.newSession = func(context.Context, *NewSessionRequest) (*NewSessionResponse, error) {
			return &NewSessionResponse{SessionID: "s", Then: func(ctx context.Context) {
				assert.NoError(t, agent.say(ctx, "hello"))
			}}, nil
		}
		w := ready(t, agent, Options{})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`)
		w.closeInput()
		assert.Equal(t, []string{
			`{"id":1,"result":{"sessionId":"s"},"jsonrpc":"2.0"}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`,
		}, w.rest(), "run %d", run)
		<-w.over
		require.NoError(t, w.err)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	agent := &agentStub{
		prompt: func(r *PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
			switch r.SessionID {
			case "accept":
				panic("secret in accept")
			case "nothing":
				return nil, nil
			}
			return func(context.Context) (*PromptResponse, error) { panic(errors.New("secret in work")) }, nil
		},
		cancel: func(*CancelNotification) { panic("secret in a notification") },
	}
	agent.newSession = func(_ context.Context, r *NewSessionRequest) (*NewSessionResponse, error) {
		response := &NewSessionResponse{SessionID: "s"}
		if r.Cwd == "/then" {
			response.Then = func(context.Context) { panic("secret in then") }
		}
		return response, nil
	}
	w := ready(t, agent, Options{})
	for _, session := range []string{"accept", "work", "nothing"} {
		answer := w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"` + session + `","prompt":[]}}`)
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"kind":"panic","details":"Internal error"}}}`, answer)
		w.probe()
	}
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	w.probe()
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/then"}}`))
	w.probe()
}

// Each request has exactly one answer, in whatever order and with whatever else things come.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	const seed1, seed2, count = 7, 11, 3000
	random := rand.New(rand.NewPCG(seed1, seed2))
	agent := asker(make(chan error, count))
	ask := agent.prompt
	agent.prompt = func(r *PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
		switch r.SessionID {
		case "refuse":
			return nil, ErrNotFound
		case "panic":
			return func(context.Context) (*PromptResponse, error) { panic("p") }, nil
		case "wait":
			return turnOf(untilDone)(r)
		case "talk":
			return turnOf(func(ctx context.Context) (StopReason, error) { return StopEndTurn, agent.say(ctx, "x") })(r)
		}
		return ask(r)
	}
	w := ready(t, agent, Options{})
	var requests atomic.Int64
	answered := make(chan map[string]int, 1)
	go func() { // the other end answers what it is asked, sometimes
		seen := make(map[string]int)
		for line := range w.lines {
			r := response{}
			if assert.NoError(t, checkLine(line)) && assert.NoError(t, json.Unmarshal([]byte(line), &r)) && r.Method == "" {
				seen[string(r.ID)]++
			}
		}
		answered <- seen
	}()
	sessions := []string{"refuse", "panic", "wait", "talk", "ask", "s"}
	for i := range count {
		id := strconv.Itoa(i)
		switch random.IntN(6) {
		case 0, 1, 2:
			session := sessions[random.IntN(len(sessions))]
			w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/prompt","params":{"sessionId":"` + session + `","prompt":[]}}`)
		case 3:
			w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/new","params":{"cwd":"/"}}`)
		case 4:
			w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"nope"}`)
		case 5:
			w.send(
				`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":`+strconv.Itoa(random.IntN(i+1))+`}}`,
				`{"jsonrpc":"2.0","id":`+strconv.Itoa(random.IntN(count/4)+1)+`,"result":{"outcome":{"outcome":"cancelled"}}}`)
			continue
		}
		requests.Add(1)
	}
	w.closeInput()
	<-w.over
	require.NoError(t, w.err)
	seen := <-answered
	assert.Len(t, seen, int(requests.Load()))
	for id, times := range seen {
		assert.Equal(t, 1, times, "id %s", id)
	}
}
