package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// errand's world: a folder, a cart, a model, and a session that lives through several processes.
type world struct {
	t      *testing.T
	dir    string // the workspace
	state  string
	orders string // the cart's file; empty: there is no cart
	env    []string
	model  *errand
	watch  int // inotify over dir
	id     acp.SessionID
	told   []json.RawMessage // to the latest client
	lives  int
	hit    bool // the last fault happened
	limit  int  // of the size of files in the first life, in blocks of 512 bytes; 0: none
}

// newWorld is one whose errands end before that tool, or with the last where it is empty.
func newWorld(t *testing.T, provider, until string) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{
		t: t, dir: filepath.Join(home, "work"), state: filepath.Join(home, "state"), orders: filepath.Join(home, "orders.db"), model: &errand{until: until},
	}
	require.NoError(t, os.Mkdir(w.dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "notes.txt"), []byte("buy milk\n"), 0o600))
	url := w.model.serve(t)
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CARTAGENT_STATE_DIR=" + w.state, "CARTAGENT_CONFIG_DIR=" + filepath.Join(home, "config"),
		"CARTAGENT_MODEL=" + provider + "/errand", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url + "/v1", "ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL=" + url,
	}
	var err error
	w.watch, err = syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Close(w.watch)) })
	_, err = syscall.InotifyAddWatch(w.watch, w.dir, syscall.IN_MOVED_TO|syscall.IN_MOVED_FROM) // equal events in a row would be one
	require.NoError(t, err)
	return w
}

// writes is how often a file of the workspace was replaced, since it was last asked.
func (w *world) writes(name string) int {
	n := 0
	buf := make([]byte, 64<<10)
	for {
		got, err := syscall.Read(w.watch, buf)
		if err != nil || got <= 0 {
			return n
		}
		for rest := buf[:got]; len(rest) >= syscall.SizeofInotifyEvent; {
			e := (*syscall.InotifyEvent)(unsafe.Pointer(&rest[0]))
			end := syscall.SizeofInotifyEvent + int(e.Len)
			if strings.TrimRight(string(rest[syscall.SizeofInotifyEvent:end]), "\x00") == name {
				n++
			}
			rest = rest[end:]
		}
	}
}

// errDied is the end of a life by its fault.
var errDied = errors.New("the process died")

// live runs one process until the prompt is answered or the fault, and checks what a client can see. An error that is
// not errDied is a broken promise.
func (w *world) live(ctx context.Context, binary, fault string) (err error) {
	cmd := exec.CommandContext(ctx, binary, "acp")
	if w.limit > 0 && w.lives == 0 {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" acp`, w.limit), binary)
	}
	cmd.Dir, cmd.Env = w.dir, append([]string{faultVar + "=" + fault}, w.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	person := &witness{dir: w.dir, forms: w.lives%2 == 0}
	w.lives++
	conn := acp.Dial(ctx, acp.Stdio(out, in), person, acp.Options{})
	err = w.converse(ctx, conn, person, binary)
	_ = conn.Close()
	ended := cmd.Wait()
	w.told = append(w.told, person.take()...)
	killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	w.hit = w.hit || killed
	switch {
	case len(person.problems) > 0:
		return errors.New(strings.Join(person.problems, "; "))
	case killed && (errors.Is(err, acp.ErrClosed) || errors.Is(err, syscall.EPIPE)):
		return errDied
	case err == nil || errors.Is(err, errDied):
		if ended != nil {
			return fmt.Errorf("the process ended with %w: %s", ended, stderr.String())
		}
		return err
	}
	return fmt.Errorf("%w; stderr: %s", err, stderr.String())
}

func (w *world) converse(ctx context.Context, conn *acp.AgentConn, person *witness, binary string) error {
	offered := acp.ClientCapabilities{}
	if person.forms {
		offered.Elicitation = &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}
	}
	if _, err := conn.Initialize(ctx, &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion, ClientCapabilities: offered}); err != nil {
		return err
	}
	text := "Run my errands"
	if w.id != "" {
		text = "Go on"
	}
	if err := w.open(ctx, conn, person, binary); err != nil {
		return err
	}
	ask := &acp.PromptRequest{SessionID: w.id, Prompt: acp.ContentBlocks{acp.TextContent{Text: text}}}
	answer, err := conn.Prompt(ctx, ask)
	switch {
	case storageFailed(err):
		w.hit = true
		if err := w.open(ctx, conn, person, binary); err != nil {
			return fmt.Errorf("loading a session that cannot be written: %w", err)
		}
		if _, err := conn.Prompt(ctx, ask); !storageFailed(err) {
			return fmt.Errorf("a prompt to a session that cannot be written: %w", err)
		}
		return errDied // there is a process left, but no log
	case err != nil:
		return err
	case answer.StopReason != acp.StopEndTurn:
		return fmt.Errorf("the turn ended with %q", answer.StopReason)
	}
	return w.open(ctx, conn, person, binary)
}

// storageFailed says whether a prompt was refused because the log cannot be written.
func storageFailed(err error) bool {
	var refusal *acp.Error
	return errors.As(err, &refusal) && strings.Contains(string(refusal.Data), `"kind":"storage"`)
}

// open makes the session, or loads it and holds what comes against what was told before.
func (w *world) open(ctx context.Context, conn *acp.AgentConn, person *witness, binary string) error {
	servers := acp.MCPServers{}
	if w.orders != "" {
		servers = append(servers, acp.MCPServerStdio{Name: "shop", Command: binary, Args: []string{"cart", "--store", w.orders}})
	}
	if w.id == "" {
		opened, err := conn.NewSession(ctx, &acp.NewSessionRequest{Cwd: w.dir, MCPServers: servers})
		if err == nil {
			w.id = opened.SessionID
		}
		return err
	}
	told := append(w.told, person.take()...)
	if _, err := conn.LoadSession(ctx, &acp.LoadSessionRequest{SessionID: w.id, Cwd: w.dir, MCPServers: servers}); err != nil {
		return err
	}
	w.told = person.take()
	if err := lost(told, w.told); err != nil {
		return lostError{err}
	}
	return nil
}

type lostError struct{ error }

// repeated says what was done more than once, or not at all.
func (w *world) repeated() error {
	var problems []error
	check := func(what string, got, want any) {
		if got != want {
			problems = append(problems, fmt.Errorf("%s: %v instead of %v", what, got, want))
		}
	}
	content, _ := os.ReadFile(filepath.Join(w.dir, "out.txt"))
	check("out.txt", string(content), "second\n")
	check("writes of out.txt", w.writes("out.txt"), 2)
	left, _ := filepath.Glob(filepath.Join(w.dir, ".cartagent-*"))
	check("halves of files", len(left), 0)
	runs, _ := os.ReadFile(filepath.Join(w.dir, "runs.log"))
	check("runs.log", string(runs), "ran\n")
	db, err := sql.Open("sqlite", w.orders)
	if err != nil {
		return err
	}
	var placed int
	var body string
	err = db.QueryRow("SELECT count(*), coalesce(max(body), '') FROM orders WHERE status = 'placed'").Scan(&placed, &body)
	problems = append(problems, err, db.Close())
	check("orders", placed, 1)
	check("lattes in the order", strings.Count(strings.ToLower(body), "latte"), 1)
	return errors.Join(problems...)
}

// unannounced says what was done though the log does not have the intent to do it.
func (w *world) unannounced(ctx context.Context) error {
	if w.id == "" {
		return nil
	}
	store, err := session.OpenDir(w.state, session.Options{})
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it was only read
	_, events := loop.Replay(func(yield func(loop.Input) bool) {
		for in, readErr := range store.Inputs(ctx, string(w.id), 0) {
			if err = readErr; err != nil || !yield(in) {
				return
			}
		}
	})
	tools, started := map[string]string{}, map[string]bool{}
	for _, e := range events {
		switch v := e.(type) {
		case loop.ToolProposed:
			tools[v.Call.ID] = v.Call.Tool
		case loop.ToolStarted:
			started[tools[v.CallID]] = true
		default:
		}
	}
	problems := []error{err}
	for tool, file := range map[string]string{"write": "out.txt", "terminal": "runs.log"} {
		if _, err := os.Stat(filepath.Join(w.dir, file)); err == nil && !started[tool] {
			problems = append(problems, fmt.Errorf("%s is there without an intent of %s", file, tool))
		}
	}
	return errors.Join(problems...)
}

// sound says what is wrong with the session's log: after all that, nothing is.
func (w *world) sound(ctx context.Context) error {
	store, err := session.OpenDir(w.state, session.Options{})
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it was only read
	leased, err := store.Lease(ctx, string(w.id))
	if err != nil {
		return err
	}
	if found := leased.Warnings(); len(found) > 0 {
		err = errors.New(strings.Join(found, "; "))
	}
	var inputs []loop.Input
	for in, readErr := range store.Inputs(ctx, string(w.id), 0) {
		inputs, err = append(inputs, in), errors.Join(err, readErr)
	}
	return errors.Join(err, leased.Close())
}

// killVar chooses how much TestKill tries: all faults at each record, and two more in those who go on, where it is "full".
const killVar = "CARTAGENT_TEST_KILL"

// TestKill kills the agent before and after every record of a session, and inside of appends, or has the disk fail, and
// lets a new process go on.
func TestKill(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("cartagent-faulty")
	require.NoError(t, err)
	var tried, lostOnes, repeatedOnes, other atomic.Int64
	var over atomic.Bool
	var group sync.WaitGroup
	slots := make(chan struct{}, 2)
	for n := 1; !over.Load() && n < 500; n++ {
		for i, how := range kinds(n) {
			if over.Load() {
				break
			}
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				provider := []string{"openai", "anthropic"}[(n+i)%2]
				fault := fmt.Sprint(how, " ", n)
				t.Run(fault+" "+provider, func(t *testing.T) {
					w := newWorld(t, provider, "")
					faults := []string{fault}
					if os.Getenv(killVar) == "full" { // and who goes on is killed in its turn
						faults = append(faults, fmt.Sprint(faultBefore, " ", 1+n*7%11), fmt.Sprint(faultAfter, " ", 1+n*5%13))
					}
					err := w.play(t.Context(), path, faults...)
					if !w.hit && err == nil {
						over.Store(true)
						return
					}
					tried.Add(1)
					var gone lostError
					repeats := w.repeated()
					switch {
					case errors.As(err, &gone):
						lostOnes.Add(1)
					case err != nil:
						other.Add(1)
					case repeats != nil:
						repeatedOnes.Add(1)
					}
					assert.NoError(t, errors.Join(err, repeats))
				})
			})
		}
	}
	group.Wait()
	t.Logf("points tried %d, lost %d, repeated %d, otherwise wrong %d", tried.Load(), lostOnes.Load(), repeatedOnes.Load(), other.Load())
}

// play lives through the faults, one a process, and then without one to the end.
func (w *world) play(ctx context.Context, binary string, faults ...string) error {
	for _, f := range append(faults, "") {
		err := w.live(ctx, binary, f)
		if err == nil {
			break
		}
		if !errors.Is(err, errDied) || f == "" {
			return fmt.Errorf("life %d: %w", w.lives, err)
		}
		if err := w.unannounced(ctx); err != nil {
			return fmt.Errorf("life %d: %w", w.lives, err)
		}
	}
	return errors.Join(w.model.wrong(), w.sound(ctx))
}

// kinds are the faults that are tried at a record: that it is the last one and that it is the first one missing, and in
// turn the others.
func kinds(n int) []string {
	others := []string{faultByte, faultMiddle, faultBrace, faultNewline, faultFull, faultUnsync}
	switch {
	case os.Getenv(killVar) == "full":
		return append(others, faultBefore, faultAfter)
	case (testing.Short() || raced) && n%10 != 0: // the whole is gone through without the detector
		return nil
	}
	return []string{faultBefore, faultAfter, others[n%len(others)]}
}

// At the command line it is the same: who goes on is asked what nobody else can tell, with --yes too, and where nobody can
// be asked the model is told, and looks.
func TestRunGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("cartagent-faulty")
	require.NoError(t, err)
	run := func(w *world, fault string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), path, append([]string{"run", "--yes", "--cwd", w.dir}, args...)...)
		cmd.Env = append([]string{faultVar + "=" + fault}, w.env...)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	for _, c := range []struct {
		fault string
		done  bool
	}{{fault: faultAfter + " 4 Intended"}, {fault: faultBefore + " 4 Finished", done: true}} { // read, write, edit, terminal
		for _, typed := range []string{"", "y", "n"} {
			t.Run(fmt.Sprint(c.fault, " ", typed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "openai", "ask")
				_, err := run(w, c.fault, "Go")
				require.ErrorContains(t, err, "killed")
				_, err = os.Stat(filepath.Join(w.dir, "runs.log"))
				require.Equal(t, c.done, err == nil)
				w.find(t)
				want := 1
				if typed == "" {
					said, err := run(w, "", "--session", string(w.id), "Go on")
					require.ErrorContains(t, err, "exit status 5", said)
					assert.Contains(t, said, "not run again, since there is no terminal to ask on")
					assert.Contains(t, said, "All done.")
				} else {
					p := startTyping(t, w.env, "run", "--yes", "--cwd", w.dir, "--session", string(w.id), "Go on")
					p.answer(t, "[y] run it again  [n] leave it: ", typed+"\n")
					p.until(t, "All done.")
					assert.Zero(t, p.end(t), p.shown.String())
					if typed == "y" && c.done {
						want = 2 // by the person's word
					}
				}
				runs, err := os.ReadFile(filepath.Join(w.dir, "runs.log"))
				require.NoError(t, err)
				assert.Equal(t, strings.Repeat("ran\n", want), string(runs))
				require.NoError(t, w.model.wrong())
			})
		}
	}
}

// find finds the one session there is.
func (w *world) find(t *testing.T) {
	t.Helper()
	store, err := session.OpenDir(w.state, session.Options{})
	require.NoError(t, err)
	defer store.Close() //nolint:errcheck // it was only read
	page, err := store.List(t.Context(), session.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	w.id = acp.SessionID(page.Sessions[0].ID)
}
