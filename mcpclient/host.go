package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// HostOptions are what a host needs from outside. The zero value works.
type HostOptions struct {
	Options
	// Retry is how long to wait before the nth start in a row of a server that has ended, from 1, and whether to start it
	// at all. nil is DefaultRetry.
	Retry func(n int) (wait time.Duration, again bool)
	// Steady is how long a server must have been there for its next end to be the first one in a row; DefaultSteady when
	// zero.
	Steady time.Duration
	// Known are the tools that the session was offered before, by another host, in their order. Those of a server that is
	// not there yet are offered again as they were, and wait for it; what a server has once it is there takes their place.
	Known []loop.Spec
}

// DefaultSteady holds where HostOptions.Steady is not set.
const DefaultSteady = time.Minute

// DefaultRetry starts a server five times in a row at most, after 0.5, 1, 2, 4 and 8 s.
func DefaultRetry(n int) (wait time.Duration, again bool) {
	return 500 * time.Millisecond << (n - 1), n <= 5
}

// Phase is where a server is.
type Phase string

// The phases of a server. A failed one stays so: it could not be connected, or has ended too often.
const (
	PhaseConnecting Phase = "connecting"
	PhaseConnected  Phase = "connected"
	PhaseRestarting Phase = "restarting"
	PhaseFailed     Phase = "failed"
)

// State is how a server of a host is.
type State struct {
	Name    string
	Phase   Phase
	Era     string // of the latest connection, as the rest
	Version string
	Tools   int
	Why     string // it does not work; empty where it does or may still come to
}

// Host keeps the servers of one session: it connects them side by side, each as slow as it is, and starts those again
// that end. What was running when a server ended has failed and is not repeated. Its methods may be called from any
// goroutine.
//
// What a model is offered only grows: a tool keeps its place and, once its server has listed it, its description for as
// long as the host lives. Calling one that its server has no more is an error that says so, and one that has changed since
// asks the person again.
type Host struct {
	o       HostOptions
	ctx     context.Context //nolint:containedctx // the servers live as long as the host
	end     context.CancelFunc
	group   sync.WaitGroup
	changed chan struct{}

	mu    sync.Mutex
	links []*link
	tools []loop.Tool // all that were ever offered, in the order in which they came
	moved chan struct{}
}

// NewHost makes a host without servers. It must be closed.
func NewHost(o HostOptions) *Host {
	if o.Retry == nil {
		o.Retry = DefaultRetry
	}
	if o.Steady <= 0 {
		o.Steady = DefaultSteady
	}
	o.Options = o.withDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Host{o: o, changed: make(chan struct{}, 1), moved: make(chan struct{})}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

// Add begins to connect servers. Their names must be unlike each other and those that the host has (see Unique).
func (h *Host) Add(servers ...Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range servers {
		l := &link{host: h, server: s, news: make(chan struct{}, 1), state: State{Name: s.Name, Phase: PhaseConnecting}}
		h.links = append(h.links, l)
		h.tools = append(h.tools, l.recall()...)
		h.group.Go(l.run)
	}
}

// Settle waits until no server is connecting for the first time, at most until ctx ends. It says whether it came so far.
func (h *Host) Settle(ctx context.Context) bool {
	for {
		h.mu.Lock()
		waiting := slices.ContainsFunc(h.links, func(l *link) bool { return l.state.Phase == PhaseConnecting })
		moved := h.moved
		h.mu.Unlock()
		if !waiting {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// Changed has something to receive after States, Tools or Prompts have changed. It is never closed.
func (h *Host) Changed() <-chan struct{} { return h.changed }

// States are the servers as they are, in the order in which they were added.
func (h *Host) States() []State {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]State, len(h.links))
	for i, l := range h.links {
		out[i] = l.state
	}
	return out
}

// Tools are the tools of all servers, those that came late at the end.
func (h *Host) Tools() []loop.Tool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tools)
}

// Has says whether some server of this host has, or had, a tool of that name, as the server names it.
func (h *Host) Has(tool string) bool {
	return slices.ContainsFunc(h.Tools(), func(t loop.Tool) bool {
		r, ok := t.(*remoteTool)
		return ok && r.original == tool && !r.recalled
	})
}

// Clients are the connections that work, by the names of their servers.
func (h *Host) Clients() map[string]*Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]*Client)
	for _, l := range h.links {
		if l.client != nil {
			out[l.server.Name] = l.client
		}
	}
	return out
}

// ServerPrompt is a prompt and the name of the server that has it.
type ServerPrompt struct {
	Server string
	Prompt
}

// Prompts are the prompts of the servers that are connected.
func (h *Host) Prompts() []ServerPrompt {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []ServerPrompt
	for _, l := range h.links {
		for _, p := range l.prompts {
			out = append(out, ServerPrompt{Server: l.server.Name, Prompt: p})
		}
	}
	return out
}

// Client is the connection to a server, waiting for one that is on its way.
func (h *Host) Client(ctx context.Context, server string) (*Client, error) {
	h.mu.Lock()
	i := slices.IndexFunc(h.links, func(l *link) bool { return l.server.Name == server })
	h.mu.Unlock()
	if i < 0 {
		return nil, errors.New("there is no server " + server)
	}
	c, _, err := h.links[i].await(ctx)
	return c, err
}

// Close ends all servers, side by side, and returns when nothing is left of them.
func (h *Host) Close() error {
	h.end()
	h.group.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, l := range h.links {
		errs = append(errs, l.closing)
	}
	return errors.Join(errs...)
}

// tell wakes who waits for a change. The caller holds mu.
func (h *Host) tell() {
	close(h.moved)
	h.moved = make(chan struct{})
	select {
	case h.changed <- struct{}{}:
	default: // somebody has still to look at the one before
	}
}
