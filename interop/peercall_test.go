package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (p *peer) write(m object) {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // ours, and never so
	}
	p.raw(string(line) + "\n")
}

// raw writes bytes as they are. An agent that has gone is noticed by who waits for it.
func (p *peer) raw(text string) { _, _ = io.WriteString(p.in, text) }

// notify sends a notification.
func (p *peer) notify(method string, params object) {
	p.write(object{"method": method, "params": params})
}

// send sends a request and returns its id.
func (p *peer) send(method string, params object) string {
	p.mu.Lock()
	id := strconv.Itoa(p.nextID)
	p.nextID++
	p.methods[id] = method
	if named, _ := params["sessionId"].(string); strings.HasSuffix(method, "/load") || strings.HasSuffix(method, "/resume") {
		p.known[named], p.owner[id] = true, named
	} else if method == "session/prompt" {
		p.owner[id] = named
	}
	p.mu.Unlock()
	p.write(object{"id": json.RawMessage(id), "method": method, "params": params})
	return id
}

// await waits until ready, called under the lock, is true; false when the agent ends or time is over.
func (p *peer) await(ready func() bool) bool {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for {
		p.mu.Lock()
		done, moved := ready(), p.moved
		p.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-moved:
		case <-p.gone:
			p.mu.Lock()
			defer p.mu.Unlock()
			return ready()
		case <-ctx.Done():
			return false
		}
	}
}

// until waits for what must come.
func (p *peer) until(what string, ready func() bool) {
	p.t.Helper()
	require.True(p.t, p.await(ready), "waiting for %s", what)
}

// answer waits for the answer to what was sent as id.
func (p *peer) answer(id string) message {
	p.t.Helper()
	p.until("the answer to "+p.method(id), func() bool { _, ok := p.answers[id]; return ok })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[id]
}

func (p *peer) method(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.methods[id]
}

// call sends a request and waits for its answer.
func (p *peer) call(method string, params object) message {
	p.t.Helper()
	return p.answer(p.send(method, params))
}

// do is call where it must succeed; it decodes the result into v, unless that is nil.
func (p *peer) do(method string, params object, v any) {
	p.t.Helper()
	m := p.call(method, params)
	if m.Error != nil {
		require.NoError(p.t, m.Error, method)
	}
	if v != nil {
		require.NoError(p.t, json.Unmarshal(m.Result, v))
	}
}

// fails is call where it must fail with one of codes, or any when there are none.
func (p *peer) fails(method string, params object, codes ...int) {
	p.t.Helper()
	m := p.call(method, params)
	require.NotNil(p.t, m.Error, "%s succeeded: %s", method, m.Result)
	if len(codes) > 0 {
		require.Contains(p.t, codes, m.Error.Code, "%s", m.Error.Message)
	}
}

// fence comes back once the agent has answered a request that it refuses: what it had written before has come by then.
func (p *peer) fence() {
	p.t.Helper()
	p.fails("_interop/fence", object{}, -32601)
}

// hello initializes the connection.
func (p *peer) hello() *peer {
	p.t.Helper()
	p.do("initialize", object{
		"protocolVersion": 1, "clientInfo": object{"name": "interop", "version": "1"}, "clientCapabilities": p.caps,
	}, &p.info)
	return p
}

// end closes the agent's input, and sees to it that it ends.
func (p *peer) end() {
	_ = p.in.Close()
	select {
	case <-p.gone:
	case <-time.After(patience):
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		<-p.gone
		assert.Fail(p.t, "the agent is still there after its input ended")
	}
}

// since gives the updates of a session from the nth on.
func (p *peer) since(n int, session string) []note {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.notes[n:]), func(x note) bool { return x.SessionID != session })
}

// count is how many updates have come so far.
func (p *peer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.notes)
}

// requests gives the agent's requests so far.
func (p *peer) requests() []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func (p *peer) answering(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ask = how
}

var errStop = errors.New("unexpected stop reason")

// stopOf is a prompt's answer, if it is one of want; else the error.
func stopOf(m message, want ...string) error {
	if m.Error != nil {
		return m.Error
	}
	var r struct {
		StopReason string `json:"stopReason"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return fmt.Errorf("decoding the answer to a prompt: %w", err)
	}
	if !slices.Contains(want, r.StopReason) {
		return fmt.Errorf("%w: %s, not %s", errStop, r.StopReason, strings.Join(want, " or "))
	}
	return nil
}
