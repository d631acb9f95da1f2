package cart

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// played serves in to its end and gives the lines that came out.
func played(t *testing.T, in io.Reader, o Options) []string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Serve(t.Context(), in, &out, o))
	lines := strings.Split(out.String(), "\n")
	require.Empty(t, lines[len(lines)-1], "every line is ended")
	return lines[:len(lines)-1]
}

func TestServeAnswersLineByLine(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	handles := 0
	o := Options{
		Caller:    "ada",
		Now:       func() time.Time { return time.UnixMilli(start) },
		NewHandle: func() string { handles++; return fmt.Sprintf("ord_%d", handles) },
		Log:       log.New(&logged),
	}
	in := strings.Join([]string{
		modern(1, "tools/call", `"name":"create_order"`, "{}"),
		"\r", "   ", "",
		"this is not JSON",
		`[` + modern(2, "tools/list", "", "{}") + `]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`,
		modern(3, "tools/call", `"name":"add_item","arguments":{"order":"ord_1","item":"latte <3","size":"small"}`, "{}") + "\r",
		"\t" + modern(4, "tools/call", `"name":"add_item","arguments":{"order":"ord_1","item":"latte","size":"small"}`, "{}"),
	}, "\n")
	const meta = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"coffee-cart","title":"Coffee cart","version":"0.1.0"}}`
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","id":1,"result":{` + meta + `,"content":[{"text":"{\"order\":\"ord_1\"}","type":"text"}],"isError":false,"resultType":"complete","structuredContent":{"order":"ord_1"}}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error: a message is one JSON object in UTF-8"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request: batches are not supported, send one message at a time"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{` + meta + `,"content":[{"text":"Today's menu has no \"latte <3\". Ask the customer to choose from: ` + menuWords + `.","type":"text"}],"isError":true,"resultType":"complete"}}`,
		`{"jsonrpc":"2.0","id":4,"result":{` + meta + `,"content":[{"text":"{\"order\":\"ord_1\",\"lines\":[{\"item\":\"latte\",\"size\":\"small\",\"cents\":400}],\"totalCents\":400}","type":"text"}],"isError":false,"resultType":"complete","structuredContent":{"order":"ord_1","lines":[{"item":"latte","size":"small","cents":400}],"totalCents":400}}}`,
	}, played(t, strings.NewReader(in), o))
	assert.Equal(t, []string{
		`INFO message method=tools/call outcome=result`,
		`INFO message method="" outcome="error -32700"`,
		`INFO message method="" outcome="error -32600"`,
		`INFO message method=notifications/cancelled outcome="no reply"`,
		`INFO message method=tools/call outcome=result`,
		`INFO message method=tools/call outcome=result`,
	}, strings.Split(strings.TrimSpace(logged.String()), "\n"))
}

func TestServeRefusesALongLineAndGoesOn(t *testing.T) {
	t.Parallel()
	good := modern(1, "tools/list", "", "{}")
	for _, end := range []string{"\n", "\r\n"} {
		in := io.MultiReader(
			strings.NewReader(good+strings.Repeat(" ", maxLine-len(good))+end), // as long as may be
			strings.NewReader(strings.Repeat("x", maxLine+3)+end),
			strings.NewReader(good+end),
			strings.NewReader(strings.Repeat("y", 2*maxLine)), // and the last one, without its newline
		)
		var codes []string
		for _, line := range played(t, in, Options{}) {
			var reply Reply
			require.NoError(t, json.Unmarshal([]byte(line), &reply))
			codes = append(codes, string(reply.ID))
			if reply.Error != nil {
				codes[len(codes)-1] = text(reply.Error)
			}
		}
		refused := `{"code":-32600,"message":"Invalid Request: a message may have at most 16777216 bytes"}`
		assert.Equal(t, []string{"1", refused, "1", refused}, codes)
	}
}

// Whatever the borders of the reads, a line is a line.
func TestReadLine(t *testing.T) {
	t.Parallel()
	const in = "short\n\r\nexactly 16 bytes\r\nseventeen bytes!!!!\nend"
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(in), "bytewise": iotest.OneByteReader(strings.NewReader(in)), "halves": iotest.HalfReader(strings.NewReader(in)),
	} {
		b := bufio.NewReaderSize(r, 16)
		var got []string
		for {
			text, err := readLine(b, 16)
			got = append(got, strings.TrimRight(string(text), "\r\n"))
			if errors.Is(err, errLongLine) {
				got[len(got)-1] = "too long"
				continue
			}
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		assert.Equal(t, []string{"short", "", "exactly 16 bytes", "too long", "end"}, got, name)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, feed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, in, io.Discard, Options{}) }()
		_, err := feed.Write([]byte(modern(1, "tools/list", "", "{}") + "\n"))
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, ended)
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, feed.Close()) // and the reader is free
	})
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestServePassesOnFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("cable cut")
	require.ErrorIs(t, Serve(t.Context(), iotest.ErrReader(broken), io.Discard, Options{}), broken)
	good := strings.NewReader(modern(1, "tools/list", "", "{}"))
	require.ErrorIs(t, Serve(t.Context(), good, closedWriter{}, Options{}), io.ErrClosedPipe)
}

func TestServeKnowsOrdersByDefaultHandles(t *testing.T) {
	t.Parallel()
	var got [2]struct {
		Result struct{ StructuredContent struct{ Order string } }
	}
	create := modern(1, "tools/call", `"name":"create_order"`, "{}")
	for i, line := range played(t, strings.NewReader(create+"\n"+create+"\n"), Options{}) {
		require.NoError(t, json.Unmarshal([]byte(line), &got[i]))
		assert.Regexp(t, `^ord_[A-Z2-7]{26}$`, got[i].Result.StructuredContent.Order)
	}
	assert.NotEqual(t, got[0], got[1])
}

// One connection may speak both eras: the handshake opens the older one, and _meta is always the newer.
func TestServeSpeaksTheHandshakeEraWhereAllowed(t *testing.T) {
	t.Parallel()
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	in := strings.Join([]string{
		list,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		list,
		modern(3, "tools/list", "", "{}"),
	}, "\n")
	kinds := func(lines []string) []string {
		var all []string
		for _, line := range lines {
			v := decoded(t, line)
			result, _ := v["result"].(map[string]any)
			_, isModern := result["resultType"]
			switch {
			case v["error"] != nil:
				all = append(all, "error")
			case isModern:
				all = append(all, "modern")
			default:
				all = append(all, "legacy")
			}
		}
		return all
	}
	assert.Equal(t, []string{"error", "legacy", "legacy", "modern"}, kinds(played(t, strings.NewReader(in), Options{Legacy: true})))
	assert.Equal(t, []string{"error", "error", "error", "modern"}, kinds(played(t, strings.NewReader(in), Options{})))
}

// cancels is the client that takes back what it has asked for while another cart is at work on the file.
func cancels(c *customer) {
	t := c.t
	path := filepath.Join(t.TempDir(), "orders.db")
	book := openBook(t, path)
	in, feed := io.Pipe()
	replies, out := io.Pipe()
	o := Options{Book: book, NewHandle: func() string { return "h" }}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(Serve(t.Context(), in, out, o), out.Close()) }()
	lines := bufio.NewScanner(replies)
	sends := func(messages ...string) {
		for _, message := range messages {
			_, err := io.WriteString(feed, message+"\n")
			require.NoError(t, err)
		}
	}
	next := func() map[string]any {
		require.True(t, lines.Scan(), "a reply")
		return decoded(t, lines.Text())
	}
	call := func(id, tool, args string) string {
		message := modern(7, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), "{}")
		return strings.Replace(message, `"id":7`, `"id":`+id, 1)
	}
	sends(call("1", "create_order", "{}"), call("2", "add_item", `{"order":"h","item":"oat cookie"}`))
	next()
	next()
	release := hold(t, path)
	sends(
		call(`"A"`, "place_order", `{"order":"h"}`),
		call("3", "place_order", `{"order":"h","name":"Ada"}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"3"}}`, // a string is no number
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"the customer left"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0041"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, // too late, so it does nothing
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		"", // once this is read, what is before it was understood
	)
	release()
	sends(call("3", "get_order", `{"order":"h"}`))
	got := next()
	assert.InDelta(t, 3, got["id"], 0, "what was cancelled has no answer")
	assert.Equal(t, "open", resultOf(t, got)["structuredContent"].(map[string]any)["status"])
	require.NoError(t, feed.Close())
	require.NoError(t, <-ended)
	require.NoError(t, book.Close())
}
