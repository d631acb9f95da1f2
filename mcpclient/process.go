package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/charmbracelet/log"
)

// The steps of shutting down, in the order of the protocol's stdio rules, and how long each may take.
const (
	waitEOF  = time.Second            // after closing stdin, before SIGTERM
	waitTerm = time.Second            // after SIGTERM, before SIGKILL
	waitKill = time.Second            // after SIGKILL
	waitRest = 300 * time.Millisecond // twice, for what the server itself had started
	waitLast = 250 * time.Millisecond // for output that was written before the end
)

// process is a server's process, the leader of a group of its own.
type process struct {
	name string
	log  *log.Logger
	// conceal takes the server's secrets from what it says.
	conceal func(string) string
	cmd     *exec.Cmd
	stdin   *os.File // our ends of its pipes
	stdout  *os.File
	stderr  *os.File

	exited chan struct{} // closed when it has ended and was waited for
	heard  chan struct{} // closed when its stderr was read to the end
	status string        // how it ended; read it after exited
	wg     sync.WaitGroup

	mu   sync.Mutex
	tail []string // its last lines on stderr
}

// inherited are the variables that every server gets. Nothing else of our environment reaches it: keys above all.
func inherited() []string {
	return []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "TERM", "SystemRoot"}
}

// environment is the small environment of a server, its own variables last.
func environment(environ []string, own map[string]string) []string {
	var out []string
	for _, name := range inherited() {
		for _, kv := range environ {
			if k, _, ok := strings.Cut(kv, "="); ok && k == name {
				if _, mine := own[k]; !mine {
					out = append(out, kv)
				}
			}
		}
	}
	for k, v := range own {
		out = append(out, k+"="+v)
	}
	return out
}

// start starts a server's process. It outlives ctx; stop ends it.
func start(ctx context.Context, s Server, o Options) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting server %s: %w", s.Name, err)
	}
	if s.Command == "" {
		return nil, fmt.Errorf("starting server %s: it has no command; set one in its configuration", s.Name)
	}
	p := &process{name: s.Name, log: o.Log, conceal: s.Conceal, exited: make(chan struct{}), heard: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), s.Command, s.Args...)
	p.cmd.Dir = s.Dir
	p.cmd.Env = environment(o.Environ, s.Env)
	setGroup(p.cmd)
	theirs, err := p.pipes()
	if err != nil {
		closeAll(append(theirs, p.stdin, p.stdout, p.stderr)...)
		return nil, fmt.Errorf("starting server %s: %w", s.Name, err)
	}
	started := make(chan error)
	p.wg.Go(func() { p.run(started) })
	err = <-started
	closeAll(theirs...)
	if err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		p.wg.Wait()
		return nil, fmt.Errorf("starting server %s: %w", s.Name, err)
	}
	p.wg.Go(p.readStderr)
	return p, nil
}

// pipes makes the three pipes and gives the server's ends of them.
func (p *process) pipes() ([]*os.File, error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.stdin = in, ours
	ours, out, err := os.Pipe()
	if err != nil {
		return []*os.File{in}, err
	}
	p.cmd.Stdout, p.stdout = out, ours
	ours, errs, err := os.Pipe()
	if err != nil {
		return []*os.File{in, out}, err
	}
	p.cmd.Stderr, p.stderr = errs, ours
	return []*os.File{in, out, errs}, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // pipes have nothing to lose by closing
		}
	}
}

// run starts the process and waits for it. The signal that Linux sends to children of a parent that died is bound to
// the thread that started them, so this goroutine keeps its thread until the process has ended.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	err = p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		p.status = "exit status 0"
	case errors.As(err, &exit):
		p.status = exit.String()
	default:
		p.status = err.Error()
	}
	// Something that the server started may keep its pipes open; what was written in time is still read.
	last := time.Now().Add(waitLast)
	_ = p.stdout.SetReadDeadline(last)
	_ = p.stderr.SetReadDeadline(last)
	close(p.exited)
}

const (
	tailLines = 10
	tailWidth = 300
)

// readStderr logs what the server writes there and remembers the end of it. Of a line that never ends it holds no more than
// is shown.
func (p *process) readStderr() {
	defer close(p.heard)
	br := bufio.NewReaderSize(p.stderr, 4<<10)
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part[:min(len(part), 2*tailWidth-len(line))]...) // some of it is not printable
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		p.hear(printable(p.conceal(string(line)), tailWidth))
		line = line[:0]
		if err != nil {
			return
		}
	}
}

// hear takes a line of stderr.
func (p *process) hear(line string) {
	if line == "" {
		return
	}
	p.log.Info("server stderr", "server", p.name, "line", line)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, line)
	if len(p.tail) > tailLines {
		p.tail = append(p.tail[:0], p.tail[1:]...)
	}
}

// printable makes text of a foreign program one line without control characters, of at most limit bytes.
func printable(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// lastWords are the last lines of stderr, for the text of an error; empty when there are none.
func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tail) == 0 {
		return ""
	}
	return "; its last words on stderr: " + strings.Join(p.tail, " | ")
}

// ended waits a moment for the process to end and says how it did.
func (p *process) ended() string {
	select {
	case <-p.exited:
		<-p.heard // soon: see run
		return "has ended (" + p.status + ")" + p.lastWords()
	case <-time.After(2 * waitLast):
		return "has closed its output" + p.lastWords()
	}
}

// stop ends the process and its whole group and returns when nothing is left of them, after 3.5 s at most.
func (p *process) stop() {
	_ = p.stdin.Close()
	if !p.wait(waitEOF) {
		signalGroup(p.cmd.Process, false)
		if !p.wait(waitTerm) {
			signalGroup(p.cmd.Process, true)
			if !p.wait(waitKill) {
				p.log.Error("server does not end", "server", p.name, "pid", p.cmd.Process.Pid)
			}
		}
	}
	p.stopRest()
	select {
	case <-p.exited:
		p.wg.Wait()
	default: // it is stuck in the kernel; waiting for it would make us stuck as well
	}
	closeAll(p.stdout, p.stderr)
}

func (p *process) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// stopRest ends what the server has left behind in its group. Those are not our children, so nobody tells us when they
// end: this looks, some times.
func (p *process) stopRest() {
	for _, kill := range []bool{false, true} {
		if !groupAlive(p.cmd.Process) {
			return
		}
		signalGroup(p.cmd.Process, kill)
		p.waitRest()
	}
}

func (p *process) waitRest() {
	const looks = 25
	tick := time.NewTicker(waitRest / looks)
	defer tick.Stop()
	for range looks {
		<-tick.C
		if !groupAlive(p.cmd.Process) {
			return
		}
	}
}
