//go:build unix

package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// memory is the wire to a server in this process, so that its time can be a bubble's.
type memory struct {
	conn  *conn
	serve func(w *memory, r *request) // in a goroutine of its own
	list  func(r *request) string     // the result of tools/list; nil for the usual one
	group sync.WaitGroup

	mu   sync.Mutex
	sent []string
}

func (w *memory) send(_ context.Context, m message) error {
	w.mu.Lock()
	w.sent = append(w.sent, string(m.data))
	w.mu.Unlock()
	var r request
	if err := json.Unmarshal(m.data, &r); err != nil {
		return err
	}
	w.group.Go(func() {
		switch r.Method {
		case methodInitialize:
			w.result(&r, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}`)
		case "tools/list":
			if w.list != nil {
				w.result(&r, w.list(&r))
				return
			}
			w.result(&r, `{"tools":[{"name":"slow","inputSchema":{}},{"name":"never","inputSchema":{}},{"name":"quick","inputSchema":{}}]}`)
		case methodCall, methodRead, methodPrompt:
			w.serve(w, &r)
		}
	})
	return nil
}

func (w *memory) abandon(string) bool { return true }

func (w *memory) learn(_ string, result json.RawMessage) json.RawMessage { return result }

func (w *memory) stop() {
	w.conn.end(w.conn.wasClosed())
	w.group.Wait()
}

func (w *memory) lastWords() string { return "" }

func (w *memory) says(line string) { w.conn.incoming([]byte(line), "") }

func (w *memory) result(r *request, result string) {
	w.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result))
}

// refuse answers that the pages must be opened first, each a member of elicitations.
func (w *memory) refuse(r *request, pages ...string) {
	w.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"a page first","data":{"elicitations":[%s]}}}`,
		r.ID, strings.Join(pages, ",")))
}

// finish says that the person is done at a page.
func (w *memory) finish(id string) {
	w.says(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%q}}`, id))
}

// calls are the tools/call that the server got.
func (w *memory) calls() []string {
	return slices.DeleteFunc(w.messages(), func(m string) bool { return !strings.Contains(m, `"method":"tools/call"`) })
}

func (w *memory) done(r *request) { w.result(r, `{"content":[{"type":"text","text":"done"}]}`) }

// progress sends a progress notification for a request, with those members beside the token.
func (w *memory) progress(r *request, members string) {
	w.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + tokenOf(r.Params.Meta) + `,` + members + `}}`)
}

func tokenOf(meta json.RawMessage) string {
	var m struct {
		Token json.RawMessage `json:"progressToken"`
	}
	_ = json.Unmarshal(meta, &m)
	return string(m.Token)
}

// messages are those that the server got.
func (w *memory) messages() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.sent...)
}

// inMemory is a client of such a server, and its tools.
func inMemory(t *testing.T, era string, s Server, o Options, serve func(*memory, *request)) (*memory, *Client, map[string]*Tool) {
	t.Helper()
	s.Name = cmp.Or(s.Name, "shop")
	s, o = s.withTimes(), o.withDefaults()
	c := &Client{server: s, log: o.Log, elicit: o.Elicit, asks: o.Asks, talks: &talks{}, probe: o.Probe}
	if o.Asks {
		c.elicit, o.Elicit = nil, c.talks.elicit
	}
	c.conn, c.news.pause = newConn(s, o), o.pause
	w := &memory{conn: c.conn, serve: serve}
	c.conn.wire = w
	if era == EraModern {
		c.conn.beModern(discovered{Capabilities: json.RawMessage(`{"tools":{}}`)})
	}
	var err error
	_, c.session, err = c.conn.handshake(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return w, c, tools(t, c)
}
