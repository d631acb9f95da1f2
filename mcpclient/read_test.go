//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// reader is mcp_read for one client, and a job for it.
func reader(c *Client) (loop.Tool, loop.Job) {
	return ReadTool(func() map[string]*Client { return map[string]*Client{"shop": c} }), job(`{"server":"shop","uri":"menu://today"}`)
}

const menuContents = `{"contents":[{"uri":"menu://today","text":"latte"}]}`

// TestReadsAndPromptsHaveProgress: what a server tells of its progress gives them their time once more, as it does for
// calls, and that of a read is shown.
func TestReadsAndPromptsHaveProgress(t *testing.T) {
	t.Parallel()
	for _, era := range []string{EraModern, EraLegacy} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, c, _ := inMemory(t, era, Server{Timeout: 20 * time.Second}, Options{}, func(w *memory, r *request) {
					for i := range 12 {
						_ = sleep(context.Background(), 15*time.Second)
						w.progress(r, fmt.Sprintf(`"progress":%d,"total":12,"message":"looking"`, i+1))
					}
					if r.Method == methodRead {
						w.result(r, menuContents)
						return
					}
					w.result(r, `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}`)
				})
				c.known.Store(&map[string]Prompt{"greet": {Name: "greet"}})
				tool, j := reader(c)
				var shown kept
				begun := time.Now()
				r, err := tool.Run(t.Context(), j, shown.report)
				require.NoError(t, err)
				assert.Equal(t, loop.Blocks{loop.Resource{URI: "menu://today", Text: "latte"}}, r.Content)
				assert.Equal(t, 3*time.Minute, time.Since(begun))
				assert.Len(t, shown.all(), 12)
				assert.Equal(t, "12 of 12: looking", shown.all()[11])

				got, err := c.Prompt(t.Context(), "greet", nil)
				require.NoError(t, err)
				assert.Equal(t, loop.Blocks{loop.Text{Text: "hello"}}, got)
				assert.Equal(t, 6*time.Minute, time.Since(begun))
				assert.Empty(t, c.conn.watches)
			})
		})
	}
}

// TestReadsAskByTheLoop: what a server wants to know before it gives a resource goes to the loop, as for a tool, and what
// came by an answer is not kept.
func TestReadsAskByTheLoop(t *testing.T) {
	t.Parallel()
	var got []string
	w, c, _ := inMemory(t, EraModern, Server{}, Options{Asks: true}, func(w *memory, r *request) {
		got = append(got, w.messages()[len(w.messages())-1])
		if strings.Contains(got[len(got)-1], "inputResponses") {
			w.result(r, `{"resultType":"complete","ttlMs":60000,"cacheScope":"private",`+menuContents[1:])
			return
		}
		w.result(r, `{"resultType":"input_required","requestState":"<s>","inputRequests":{"size":`+sizeForm+`}}`)
	})
	tool, first := reader(c)
	for range 2 {
		_, err := tool.Run(t.Context(), first, nil)
		q := needed(t, err)
		assert.Equal(t, "shop asks: Which size?", q.Message, "the name of the tool does not tell")
		assert.False(t, q.Fleeting)
		r, err := tool.Run(t.Context(), answered(first, q, loop.AnswerAccept, `{"size":"L"}`), nil)
		require.NoError(t, err)
		assert.Equal(t, "latte", r.Content[0].(loop.Resource).Text)
	}
	w.group.Wait()
	require.Len(t, got, 4, "each is another's answer")
	var second struct {
		Params struct {
			URI   string            `json:"uri"`
			State string            `json:"requestState"`
			Given map[string]Answer `json:"inputResponses"`
		} `json:"params"`
	}
	require.NoError(t, json.Unmarshal([]byte(got[1]), &second))
	assert.Equal(t, "menu://today", second.Params.URI)
	assert.Equal(t, "<s>", second.Params.State)
	assert.Equal(t, ActionAccept, second.Params.Given["size"].Action)
}

// TestListsAreBounded: a list of pages without end, each of them large, ends before it fills the memory, and that is told.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	o, logs := logged()
	w, c, _ := inMemory(t, EraModern, Server{}, o, nil)
	pages := 0
	about := strings.Repeat("x", 1<<20)
	w.list = func(*request) string {
		pages++
		return fmt.Sprintf(`{"tools":[{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}],"nextCursor":"c%d"}`, pages, about, pages)
	}
	list, err := c.Tools(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, maxListed>>20)
	assert.Equal(t, maxListed>>20, pages)
	assert.Contains(t, logs.String(), "server has a list that is too large; it ends here")
}

// TestLegacyReadsAskByTheLoop: a server of the handshake era asks while it reads.
func TestLegacyReadsAskByTheLoop(t *testing.T) {
	t.Parallel()
	var read json.RawMessage
	_, c, _ := inMemory(t, EraLegacy, Server{}, Options{Asks: true}, func(w *memory, r *request) {
		read = r.ID
		w.says(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Which size?","requestedSchema":` + sizeSchema + `}}`)
	})
	c.conn.wire = &answering{wire: c.conn.wire, then: func() {
		c.conn.incoming(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, read, menuContents), "")
	}}
	tool, j := reader(c)
	_, err := tool.Run(t.Context(), j, nil)
	q := needed(t, err)
	assert.Equal(t, "shop asks: Which size?", q.Message, "the name of the tool does not tell")
	assert.True(t, q.Fleeting)
	r, err := tool.Run(t.Context(), answered(j, q, loop.AnswerAccept, `{"size":"L"}`), nil)
	require.NoError(t, err)
	assert.Equal(t, "latte", r.Content[0].(loop.Resource).Text)
}

// answering is a wire to a server that does something once its own request is answered.
type answering struct {
	wire
	then func()
}

func (a *answering) send(ctx context.Context, m message) error {
	if m.method == "" {
		go a.then()
		return nil
	}
	return a.wire.send(ctx, m)
}
