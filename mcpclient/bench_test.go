package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// bareVar makes this program a server that is nothing but jsonrpc2 and an echo.
const bareVar = "MCPCLIENT_BENCH_BARE"

type stdio struct {
	io.Reader
	io.WriteCloser
}

// serveBare answers as a modern server with one tool, which gives back its argument.
func serveBare(in io.Reader, out io.WriteCloser) {
	answer := func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		switch r.Method {
		case methodDiscover:
			return json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`), nil
		case "tools/list":
			return json.RawMessage(`{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`), nil
		case "tools/call":
			var p struct {
				Arguments struct {
					Text string `json:"text"`
				} `json:"arguments"`
			}
			if err := json.Unmarshal(*r.Params, &p); err != nil {
				return nil, err
			}
			return map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": p.Arguments.Text}}}, nil
		}
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: r.Method}
	}
	c := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio{in, out}), jsonrpc2.HandlerWithError(answer))
	<-c.DisconnectNotify()
}

// BenchmarkRoundTrip is a tools/call over stdio, beside the floor: a bare jsonrpc2 client of the same server. Both are measured
// by turns, call for call; what is printed are medians, and how many times the floor this client takes. Allocations would be
// those of both, so they are not counted.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{64, 16 << 10} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			text := strings.Repeat("x", size)
			args, err := json.Marshal(map[string]string{"text": text})
			require.NoError(b, err)
			ours, floor := ownCalls(b), bareCalls(b)
			var times, floors []time.Duration
			for b.Loop() {
				began := time.Now()
				got := floor(args)
				between := time.Now()
				same := ours(args)
				times, floors = append(times, time.Since(between)), append(floors, between.Sub(began))
				if got != text || same != text {
					b.Fatal("the echo is another text")
				}
			}
			m, f := median(times), median(floors)
			b.ReportMetric(0, "ns/op") // likewise
			b.ReportMetric(float64(m)/1e3, "µs/call")
			b.ReportMetric(float64(f)/1e3, "floor-µs")
			b.ReportMetric(float64(m)/float64(f), "x-floor")
		})
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func bareServer(b *testing.B) (path string) {
	b.Helper()
	path, err := os.Executable()
	require.NoError(b, err)
	return path
}

// ownCalls makes calls as the loop does.
func ownCalls(b *testing.B) func(args json.RawMessage) string {
	b.Helper()
	path := bareServer(b)
	c, err := Connect(b.Context(), Server{Name: "bare", Command: path, Env: map[string]string{bareVar: "1"}}, Options{})
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, c.Close()) })
	require.Equal(b, EraModern, c.Era())
	tools, err := c.Tools(b.Context())
	require.NoError(b, err)
	return func(args json.RawMessage) string {
		r, err := tools[0].Run(b.Context(), loop.Job{Call: loop.Call{ID: "c", Tool: "bare__echo", Args: args}}, nil)
		if err != nil || len(r.Content) != 1 {
			b.Fatal(err, r.Content)
		}
		text, _ := r.Content[0].(loop.Text)
		return text.Text
	}
}

// bareCalls makes calls with jsonrpc2 alone.
func bareCalls(b *testing.B) func(args json.RawMessage) string {
	b.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), bareServer(b))
	cmd.Env = append(os.Environ(), bareVar+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	c := jsonrpc2.NewConn(context.WithoutCancel(b.Context()), jsonrpc2.NewPlainObjectStream(stdio{out, in}),
		jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return nil, nil }))
	b.Cleanup(func() {
		assert.NoError(b, c.Close())
		assert.NoError(b, cmd.Wait())
	})
	return func(args json.RawMessage) string {
		var r struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		params := map[string]any{"name": "echo", "arguments": args}
		if err := c.Call(b.Context(), "tools/call", params, &r); err != nil || len(r.Content) != 1 {
			b.Fatal(err, r.Content)
		}
		return r.Content[0].Text
	}
}
