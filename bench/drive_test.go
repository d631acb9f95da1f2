package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answerWithin is how long one answer may take before a run is given up; it is no measure of anything.
const answerWithin = time.Minute

// program is a binary to measure, with the arguments that make it an agent on stdio.
type program struct {
	name string
	argv []string
}

// place is what an agent runs in: a home and a workspace of its own, and the stub for a model.
type place struct {
	env   []string
	cwd   string
	files map[string]string // by absolute path; they are on disk too
	stub  *stub
}

// filePattern is the files of a workspace, for TOOLS.
const (
	filePattern = "data/f%02d.txt"
	fileCount   = 20
)

func newPlace(tb testing.TB, s *stub) place {
	tb.Helper()
	root, err := filepath.EvalSymlinks(tb.TempDir()) // an agent may name files by their real path
	require.NoError(tb, err)
	p := place{cwd: filepath.Join(root, "work"), files: map[string]string{}, stub: s}
	home := filepath.Join(root, "home")
	require.NoError(tb, os.Mkdir(home, 0o700))
	require.NoError(tb, os.MkdirAll(filepath.Join(p.cwd, "data"), 0o755))
	for i := range fileCount {
		name := filepath.Join(p.cwd, fmt.Sprintf(filePattern, i))
		p.files[name] = fmt.Sprintf("file number %d\nalpha\nbeta\ngamma\n", i)
		require.NoError(tb, os.WriteFile(name, []byte(p.files[name]), 0o600))
	}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"CARTAGENT_STATE_DIR=" + filepath.Join(root, "state"), "CARTAGENT_MODEL=openai/stub",
		"OPENAI_API_KEY=sk-no-secret", "OPENAI_BASE_URL=" + s.URL,
	}
	return p
}

// agent is a running program and the client's end of its pipes.
type agent struct {
	tb      testing.TB
	program program
	place   place
	cmd     *exec.Cmd
	failed  bool      // and ended already
	started time.Time // just before the process was
	stderr  bytes.Buffer
	ended   chan struct{} // closed when its stdout ends

	writing sync.Mutex
	in      io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[string]chan answer
	updates []byte         // the lines of session/update since the last turn began, decoded once the clock has stopped
	reads   map[string]int // fs/read_text_file since then, by session
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type answer struct {
	message
	at time.Time
}

// start starts p in its place. The caller ends it with stop.
func start(tb testing.TB, p program, where place) *agent {
	tb.Helper()
	a := &agent{
		tb: tb, program: p, place: where, ended: make(chan struct{}),
		waiting: map[string]chan answer{}, reads: map[string]int{},
	}
	a.cmd = exec.Command(p.argv[0], p.argv[1:]...) // not bound to a context: stop ends it, and looks at how it ended
	a.cmd.Dir, a.cmd.Env, a.cmd.Stderr = where.cwd, where.env, &a.stderr
	in, err := a.cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := a.cmd.StdoutPipe()
	require.NoError(tb, err)
	a.in = in
	a.started = time.Now()
	require.NoError(tb, a.cmd.Start())
	go a.read(out)
	return a
}

// stop closes stdin, as a client that goes away does, and requires that the process ends well by itself.
func (a *agent) stop() {
	a.tb.Helper()
	if a.failed {
		return
	}
	kill := time.AfterFunc(answerWithin, func() { _ = a.cmd.Process.Kill() })
	defer kill.Stop()
	require.NoError(a.tb, a.in.Close())
	<-a.ended
	err := a.cmd.Wait()
	require.NoError(a.tb, err, "%s did not end well; its stderr:\n%s", a.program.name, a.stderr.String())
}

// fail ends the process before the test, so that its stderr is whole.
func (a *agent) fail(err error) {
	a.tb.Helper()
	a.failed = true
	_ = a.cmd.Process.Kill()
	<-a.ended
	_ = a.cmd.Wait()
	a.tb.Fatalf("%s: %v; its stderr:\n%s", a.program.name, err, a.stderr.String())
}

func (a *agent) read(out io.Reader) {
	defer close(a.ended)
	for r := bufio.NewReaderSize(out, 1<<16); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			a.took(line, time.Now())
		}
		if err != nil {
			return // the process ended or closed its stdout; those who wait see that by ended
		}
	}
}

func (a *agent) took(line []byte, at time.Time) {
	if bytes.Contains(line, []byte(`"session/update"`)) { // quotes inside a string are escaped: only the method matches
		a.mu.Lock()
		a.updates = append(a.updates, line...)
		a.mu.Unlock()
		return
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		a.refuse(line)
		return
	}
	if m.Method != "" {
		go a.serve(m)
		return
	}
	a.mu.Lock()
	waits := a.waiting[string(m.ID)]
	delete(a.waiting, string(m.ID))
	a.mu.Unlock()
	if waits != nil {
		waits <- answer{m, at}
	}
}

// refuse fails every call that waits, for line is not of the protocol.
func (a *agent) refuse(line []byte) {
	said, _ := json.Marshal("a line that is not JSON: " + string(line)) // a string always encodes
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, waits := range a.waiting {
		delete(a.waiting, id)
		waits <- answer{message: message{Error: said}}
	}
}

func (a *agent) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing to stdin: %w", err)
	}
	return nil
}

// serve answers what the agent asks of its client.
func (a *agent) serve(m message) {
	if len(m.ID) == 0 {
		return
	}
	reply := object{"jsonrpc": "2.0", "id": m.ID}
	if result, err := a.result(m); err != nil {
		reply["error"] = object{"code": -32602, "message": err.Error()}
	} else {
		reply["result"] = result
	}
	_ = a.send(reply) // if the agent is gone, the call that waits on it says so
}

func (a *agent) result(m message) (any, error) {
	var p struct {
		SessionID string
		Path      string
		Line      int
		Limit     *int
		Options   []struct{ OptionID, Kind string }
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, fmt.Errorf("decoding the params of %s: %w", m.Method, err)
	}
	switch m.Method {
	case "fs/read_text_file":
		text, found := a.place.files[p.Path]
		if !found {
			return nil, fmt.Errorf("there is no file %s", p.Path)
		}
		a.mu.Lock()
		a.reads[p.SessionID]++
		a.mu.Unlock()
		lines := strings.SplitAfter(text, "\n")
		lines = lines[min(max(p.Line-1, 0), len(lines)):]
		if p.Limit != nil {
			lines = lines[:min(max(*p.Limit, 0), len(lines))]
		}
		return object{"content": strings.Join(lines, "")}, nil
	case "session/request_permission":
		for _, o := range p.Options {
			if o.Kind == "allow_once" {
				return object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}}, nil
			}
		}
		return nil, errors.New("no option allows the call once")
	default:
		return nil, fmt.Errorf("the client has no method %s", m.Method)
	}
}

// call sends a request and returns its result and when that arrived.
func (a *agent) call(method string, params, into any) (time.Time, error) {
	waits := make(chan answer, 1)
	a.mu.Lock()
	a.last++
	id := strconv.Itoa(a.last)
	a.waiting[id] = waits
	a.mu.Unlock()
	request := object{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params}
	if err := a.send(request); err != nil {
		return time.Time{}, err
	}
	limit, stop := context.WithTimeout(a.tb.Context(), answerWithin)
	defer stop()
	select {
	case got := <-waits:
		if len(got.Error) > 0 {
			return got.at, fmt.Errorf("%s was answered with %s", method, got.Error)
		}
		if err := json.Unmarshal(got.Result, into); err != nil {
			return got.at, fmt.Errorf("decoding the answer of %s: %w", method, err)
		}
		return got.at, nil
	case <-a.ended:
		return time.Time{}, fmt.Errorf("stdout ended before %s was answered", method)
	case <-limit.Done():
		return time.Time{}, fmt.Errorf("waiting for the answer of %s: %w", method, limit.Err())
	}
}

// initialize returns when it was answered.
func (a *agent) initialize() time.Time {
	a.tb.Helper()
	var said struct{ ProtocolVersion int }
	at, err := a.call("initialize", object{
		"protocolVersion":    1,
		"clientCapabilities": object{"fs": object{"readTextFile": true}},
		"clientInfo":         object{"name": "bench", "version": "1"},
	}, &said)
	if err == nil && said.ProtocolVersion != 1 {
		err = fmt.Errorf("initialize was answered with protocol version %d", said.ProtocolVersion)
	}
	if err != nil {
		a.fail(err)
	}
	return at
}

// newSession returns the session's id and when it was answered.
func (a *agent) newSession() (string, time.Time) {
	a.tb.Helper()
	var said struct{ SessionID string }
	at, err := a.call("session/new", object{"cwd": a.place.cwd, "mcpServers": []any{}}, &said)
	if err == nil && said.SessionID == "" {
		err = errors.New("session/new was answered without a session id")
	}
	if err != nil {
		a.fail(err)
	}
	return said.SessionID, at
}

func (a *agent) newSessions(n int) []string {
	a.tb.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i], _ = a.newSession()
	}
	return ids
}
