//go:build unix

package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cartagent/cartagent/cart"
	"github.com/cartagent/cartagent/loop"
)

// stubVar makes the test binary a scripted MCP server; its value is a stub as JSON. cartVar makes it a coffee cart.
// clientVar makes it a client of the stub that its value describes.
const (
	stubVar   = "MCPCLIENT_TEST_STUB"
	cartVar   = "MCPCLIENT_TEST_CART"
	clientVar = "MCPCLIENT_TEST_CLIENT"
)

func TestMain(m *testing.M) {
	out := os.Stdout //nolint:forbidigo // when this program is a server, that is where the protocol goes
	if conf := os.Getenv(stubVar); conf != "" {
		var s stub
		if err := json.Unmarshal([]byte(conf), &s); err != nil {
			os.Exit(90)
		}
		os.Exit(s.serve(os.Stdin, out))
	}
	if conf := os.Getenv(clientVar); conf != "" {
		os.Exit(beClient(conf))
	}
	if os.Getenv(bareVar) != "" {
		serveBare(os.Stdin, out)
		os.Exit(0)
	}
	if legacy := os.Getenv(cartVar); legacy != "" {
		o := cart.Options{Legacy: legacy == "legacy"}
		if err := cart.Serve(context.Background(), os.Stdin, out, o); err != nil {
			os.Exit(91)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// beClient connects to a stub, says so, and stays until it is killed.
func beClient(conf string) int {
	exe, err := os.Executable()
	if err != nil {
		return 95
	}
	s := Server{Name: "shop", Command: exe, Env: map[string]string{stubVar: conf}}
	if _, err := Connect(context.Background(), s, Options{}); err != nil {
		return 96
	}
	fmt.Fprintln(os.Stderr, "connected")
	select {}
}

// stub is a scripted server. Its zero value is of the handshake era and well-behaved.
type stub struct {
	Discover  string   // how server/discover is answered: see discover
	Supported []string // the versions that it names
	Modern    bool     // initialize is refused
	Noise     bool     // all kinds of junk go before each answer
	Deaf      bool     // neither the end of stdin nor SIGTERM ends it
	Child     bool     // it starts a process that outlives it
	Early     string   // it says this on stderr and exits with 3 at once
	InitHangs bool     // initialize is not answered
	Tools     []string // tools/list's entries, as JSON; defaults to those that call knows
	Later     []string // tools/list's entries from its second start in Dir on
	Pages     []page   // of tools/list
	Prompts   []string // prompts/list's entries, as JSON; without any there is no such capability
	PromptsIn []page   // or its pages
	Mute      bool     // prompts/get is not answered
	Resources []page   // of resources/list
	Templates []string // resources/templates/list's entries, as JSON
	Complete  []string // what completion/complete answers, with "more" for that there is more
	Caps      string   // the capabilities, as JSON, in place of those that the rest calls for
	TTL       string   // ttlMs and cacheScope of its results, as JSON members with a comma before them
	Listen    []string // how each subscriptions/listen is answered: see listen
	Alive     string   // a FIFO that it keeps open while it lives
	Dir       string   // where it writes what it gets (in), and the process ids of itself and its child (pids)

	out *bufio.Writer
	end io.Closer // of what is behind out
}

type page struct {
	Cursor *string // what asks for it; nil is no cursor
	Items  []string
	Next   *string
	Fails  int      // how often it fails first
	Says   []string // notifications that go before it the first time, by their methods
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Cursor    *string         `json:"cursor"`
		Arguments json.RawMessage `json:"arguments"`
		Argument  struct{ Name, Value string }
		Wanted    json.RawMessage `json:"notifications"`
		Meta      json.RawMessage `json:"_meta"`
	} `json:"params"`
}

func (s *stub) serve(in io.Reader, out io.WriteCloser) int {
	s.out, s.end = bufio.NewWriter(out), out
	if s.Alive != "" {
		f, err := os.OpenFile(s.Alive, os.O_WRONLY, 0)
		if err != nil {
			return 94
		}
		defer f.Close() //nolint:errcheck // nothing is written to it
	}
	pids := fmt.Sprint(os.Getpid())
	if s.Child {
		c := exec.Command("sleep", "9999")
		c.Stderr = os.Stderr
		if s.Deaf {
			c = exec.Command("sh", "-c", "trap '' TERM; while :; do sleep 1; done")
		}
		if c.Start() != nil {
			return 92
		}
		pids += fmt.Sprint(" ", c.Process.Pid)
	}
	s.note("pids", pids)
	if s.Early != "" {
		fmt.Fprintln(os.Stderr, s.Early)
		return 3
	}
	if s.Deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	br := bufio.NewReader(in)
	for {
		line, err := br.ReadBytes('\n')
		if err != nil {
			if s.Deaf {
				select {}
			}
			return 0
		}
		s.note("in", strings.TrimSpace(string(line)))
		var r request
		if json.Unmarshal(line, &r) != nil {
			return 93
		}
		if code, stop := s.handle(&r); stop {
			return code
		}
	}
}

func (s *stub) note(file, text string) {
	if s.Dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString(text + "\n")
		_ = f.Close()
	}
}

func (s *stub) raw(line string) {
	_, _ = s.out.WriteString(line)
	_ = s.out.Flush()
}

func (s *stub) result(id json.RawMessage, result string) {
	if s.Noise {
		s.raw("Server ready v1.2\n\n\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\r\n[debug] {\"half\":\n" +
			"\"a string\"\n[]\n{\"jsonrpc\":\"2.0\",\"id\":\"" + string(id) + "\",\"result\":{}}\n{}\nnull\n[1]\n" +
			"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\n" +
			"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}\n{\"jsonrpc\":\"1.0\",\"id\":" + string(id) + ",\"result\":1}\n")
		s.raw("\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":" + string(id) + ",\"result\":" + result + "}\r\n")
		return
	}
	s.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + "}\n")
}

func (s *stub) fail(id json.RawMessage, code int, text, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`+"\n", id, code, text, data))
}

func (s *stub) handle(r *request) (code int, stop bool) {
	switch r.Method {
	case methodDiscover:
		return s.discover(r.ID)
	case methodInitialize:
		switch {
		case s.InitHangs:
		case s.Modern:
			s.fail(r.ID, -32601, "this server speaks 2026-07-28 only", "")
		default:
			s.result(r.ID, `{"protocolVersion":"2025-11-25","capabilities":`+s.capabilities()+`,`+
				`"serverInfo":{"name":"stub","version":"1"},"instructions":"be kind"}`)
		}
	case "ping":
		s.result(r.ID, `{}`)
	case "tools/list":
		s.list(r, "tools", s.tools())
	case "resources/list":
		s.list(r, "resources", []string{`{"uri":"menu://today","name":"menu","size":12}`, `{"name":"no uri"}`})
	case "resources/read":
		if r.Params.URI != "menu://today" {
			s.fail(r.ID, -32602, "no such resource", `{"uri":"x"}`)
			break
		}
		s.result(r.ID, `{"resultType":"complete"`+s.TTL+`,"contents":[{"uri":"menu://today","mimeType":"text/plain",`+
			`"text":"latte"},{"uri":"menu://today","blob":"AAE="}]}`)
	case "resources/templates/list":
		if s.Templates == nil {
			s.fail(r.ID, -32601, "method not found", "")
			break
		}
		s.list(r, "resourceTemplates", s.Templates)
	case "resources/subscribe":
		s.result(r.ID, `{}`)
	case "completion/complete":
		s.complete(r)
	case methodListen:
		return s.listen(r)
	case "prompts/list":
		if !s.prompts() {
			s.fail(r.ID, -32601, "method not found", "")
			break
		}
		s.list(r, "prompts", s.Prompts)
	case "prompts/get":
		if !s.Mute {
			s.prompt(r)
		}
	case "tools/call":
		return s.call(r)
	}
	return 0, false
}

// complete answers the values that begin as they should.
func (s *stub) complete(r *request) {
	values, more := []string{}, false
	for _, v := range s.Complete {
		switch {
		case v == "more":
			more = true
		case strings.HasPrefix(v, r.Params.Argument.Value):
			values = append(values, v)
		}
	}
	list, _ := json.Marshal(values)
	s.result(r.ID, fmt.Sprintf(`{"completion":{"values":%s,"hasMore":%t}}`, list, more))
}

// listen answers each subscription in the way that is next: ack keeps it open, end ends it by a result and cancel by a
// notification, none grants nothing, other the tools and something that it was not asked for; a number fails with that
// code. The last way holds for the rest.
func (s *stub) listen(r *request) (code int, stop bool) {
	way := "-32601"
	if len(s.Listen) > 0 {
		way = s.Listen[0]
		if len(s.Listen) > 1 {
			s.Listen = s.Listen[1:]
		}
	}
	ack := func(granted string) {
		s.say("notifications/subscriptions/acknowledged",
			fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}`, r.ID, granted))
	}
	wanted := string(r.Params.Wanted)
	switch way {
	case "ack":
		ack(wanted)
	case "none":
		ack(`{}`)
	case "other":
		ack(`{"toolsListChanged":true,"resourcesListChanged":true}`)
	case "cancel":
		ack(wanted)
		s.say(methodCancelled, `{"requestId":`+string(r.ID)+`}`)
	case "end":
		ack(wanted)
		s.result(r.ID, `{"resultType":"complete","_meta":{}}`)
	default:
		var n int
		_, _ = fmt.Sscan(way, &n)
		s.fail(r.ID, n, "no", "")
	}
	return 0, false
}

func (s *stub) prompts() bool { return s.Prompts != nil || s.PromptsIn != nil }

func (s *stub) capabilities() string {
	if s.Caps != "" {
		return s.Caps
	}
	if s.prompts() {
		return `{"tools":{},"resources":{},"prompts":{}}`
	}
	return `{"tools":{},"resources":{}}`
}

// prompt answers the result that the argument "result" holds.
func (s *stub) prompt(r *request) {
	var args struct{ Result string }
	_ = json.Unmarshal(r.Params.Arguments, &args)
	if args.Result == "" {
		s.fail(r.ID, -32602, "unknown prompt: "+r.Params.Name, "")
		return
	}
	s.result(r.ID, args.Result)
}

// discover answers a code, or what is named.
func (s *stub) discover(id json.RawMessage) (code int, stop bool) {
	supported, _ := json.Marshal(s.Supported)
	switch s.Discover {
	case "":
		s.fail(id, -32601, "method not found", "")
	case "result":
		s.result(id, `{"resultType":"complete","supportedVersions":`+string(supported)+
			`,"capabilities":`+s.capabilities()+`,"instructions":"be kind","ttlMs":1,"cacheScope":"public"}`)
	case "refuse":
		s.fail(id, -32022, "unsupported version", `{"supported":`+string(supported)+`,"requested":"2026-07-28"}`)
	case "silence":
	case "null id":
		s.fail(json.RawMessage("null"), -32600, "bad request", "")
	case "odd result":
		s.result(id, `{"hello":1}`)
	case "odd error":
		s.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":"no"}` + "\n")
	case "neither":
		s.raw(`{"jsonrpc":"2.0","id":` + string(id) + `}` + "\n")
	case "exit":
		fmt.Fprintln(os.Stderr, "what is a discover?")
		return 4, true
	default:
		var n int
		_, _ = fmt.Sscan(s.Discover, &n)
		s.fail(id, n, "no", "")
	}
	return 0, false
}

func (s *stub) tools() []string {
	starts, _ := os.ReadFile(filepath.Join(s.Dir, "pids"))
	if s.Later != nil && bytes.Count(starts, []byte("\n")) > 1 {
		return s.Later
	}
	if s.Tools != nil {
		return s.Tools
	}
	var out []string
	for _, name := range []string{"echo", "give", "big", "never", "quick", "die", "hush", "ask", "freeze"} {
		out = append(out, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	return out
}

func (s *stub) list(r *request, key string, all []string) {
	pages := map[string][]page{"tools": s.Pages, "prompts": s.PromptsIn, "resources": s.Resources}[key]
	if len(pages) == 0 {
		s.result(r.ID, fmt.Sprintf(`{%q:[%s]%s}`, key, strings.Join(all, ","), s.TTL))
		return
	}
	for i := range pages {
		p := &pages[i]
		if (p.Cursor == nil) != (r.Params.Cursor == nil) || (p.Cursor != nil && *p.Cursor != *r.Params.Cursor) {
			continue
		}
		if p.Fails > 0 {
			p.Fails--
			s.fail(r.ID, -32603, "try again", "")
			return
		}
		for _, method := range p.Says {
			s.say(method, `{}`)
		}
		p.Says = nil
		next, _ := json.Marshal(p.Next)
		if p.Next == nil {
			s.result(r.ID, fmt.Sprintf(`{%q:[%s]%s}`, key, strings.Join(p.Items, ","), s.TTL))
			return
		}
		s.result(r.ID, fmt.Sprintf(`{%q:[%s],"nextCursor":%s%s}`, key, strings.Join(p.Items, ","), next, s.TTL))
		return
	}
	s.fail(r.ID, -32602, "bad cursor", "")
}

func (s *stub) say(method, params string) {
	s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params))
}

func (s *stub) call(r *request) (code int, stop bool) {
	var args struct {
		N      int
		Result json.RawMessage
		Says   string // with params
		Params json.RawMessage
		Tools  []json.RawMessage
	}
	_ = json.Unmarshal(r.Params.Arguments, &args)
	switch r.Params.Name {
	case "echo": // its arguments and _meta, as they came
		s.result(r.ID, fmt.Sprintf(`{"content":[],"structuredContent":{"args":%s,"meta":%s}}`,
			r.Params.Arguments, or(r.Params.Meta, "null")))
	case "give": // the result that the arguments hold
		s.result(r.ID, string(args.Result))
	case "big": // n bytes of text, the id at the end of the line
		s.raw(`{"result":{"content":[{"type":"text","text":"`)
		s.raw(string(bytes.Repeat([]byte("x"), args.N)))
		s.raw(`"}]},"jsonrpc":"2.0","id":` + string(r.ID) + "}\n")
	case "say": // a notification, and from then on other tools
		if args.Tools != nil {
			s.Tools = nil
			for _, t := range args.Tools {
				s.Tools = append(s.Tools, string(t))
			}
		}
		if args.Says != "" {
			s.say(args.Says, or(args.Params, "{}"))
		}
		s.result(r.ID, `{"content":[{"type":"text","text":"said"}]}`)
	case "work": // in n steps
		for i := range args.N {
			s.say(methodProgress, fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"brewing"}`,
				tokenOf(r.Params.Meta), i+1, args.N))
		}
		s.result(r.ID, `{"content":[{"type":"text","text":"done"}]}`)
	case "freeze": // it does nothing any more
		select {}
	case "never":
	case "quick":
		s.result(r.ID, `{"content":[{"type":"text","text":"done"}]}`)
	case "die":
		fmt.Fprintln(os.Stderr, "out of \x1b[31mmilk")
		return 5, true
	case "hush": // it lives on without its output
		_ = s.end.Close()
	case "ask":
		s.raw(`{"jsonrpc":"2.0","id":77,"method":"ping"}` + "\n")
		s.raw(`{"jsonrpc":"2.0","id":78,"method":"elicitation/create","params":{"message":"size?"}}` + "\n")
		s.result(r.ID, `{"resultType":"input_required","requestState":"s","inputRequests":{`+
			`"size":{"method":"elicitation/create","params":{"message":"size?"}}}}`)
	default:
		s.fail(r.ID, -32602, "unknown tool: "+r.Params.Name, "")
	}
	return 0, false
}

func or(raw json.RawMessage, other string) string {
	if len(raw) == 0 {
		return other
	}
	return string(raw)
}

// server makes the stub a Server.
func (s *stub) server(tb testing.TB) Server {
	tb.Helper()
	exe, err := os.Executable()
	require.NoError(tb, err)
	conf, err := json.Marshal(s)
	require.NoError(tb, err)
	return Server{Name: "shop", Command: exe, Env: map[string]string{stubVar: string(conf)}, Timeout: busy}
}

func modern() *stub {
	return &stub{Discover: "result", Supported: []string{modernVersion}, Modern: true}
}

// busy is how long a machine that has much else to do may take for what is done at once.
const busy = 5 * time.Minute

// withTime waits as long for servers as they may take on a machine that is busy, where o does not say how long.
func withTime(o Options) Options {
	if o.Setup == 0 && o.Probe == 0 {
		o.Setup, o.Probe = 2*busy, busy
	}
	return o
}

// logged is an Options whose log is in the buffer that it gives.
func logged() (Options, *syncBuffer) {
	var b syncBuffer
	return withTime(Options{Log: log.NewWithOptions(&b, log.Options{Level: log.DebugLevel})}), &b
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func open(tb testing.TB, s Server, o Options) *Client {
	tb.Helper()
	c, err := Connect(tb.Context(), s, withTime(o))
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, c.Close()) })
	return c
}

// tools are the client's tools by their original names.
func tools(tb testing.TB, c *Client) map[string]*Tool {
	tb.Helper()
	list, err := c.Tools(tb.Context())
	require.NoError(tb, err)
	out := map[string]*Tool{}
	for _, t := range list {
		tool, ok := t.(*Tool)
		require.True(tb, ok)
		out[tool.Original()] = tool
	}
	return out
}

func job(args string) loop.Job {
	return loop.Job{Call: loop.Call{ID: "call_1_1", Args: json.RawMessage(args)}}
}

// run calls a tool that must not fail.
func run(tb testing.TB, t *Tool, args string) loop.Result {
	tb.Helper()
	r, err := t.Run(tb.Context(), job(args), nil)
	require.NoError(tb, err)
	return r
}
