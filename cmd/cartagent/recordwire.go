package main

import (
	"encoding/json"
	"slices"

	"github.com/cartagent/cartagent/internal/transcript"
)

// demux sorts the lines of one connection by the sessions that they are about. What is about none is left out, but for
// the initialize with which every session begins: a list of sessions tells of others, and a login is about keys.
type demux struct {
	prologue []transcript.Message
	theirs   map[string]string // the sessions of the client's requests that wait for an answer, by the request's id
	ours     map[string]string // those of the agent's
	opening  map[string]transcript.Message
	initial  string // the id of initialize
	sessions map[string]*demuxed
}

// demuxed is a session as far as its lines go.
type demuxed struct {
	early []transcript.Message // before it was recorded
	begun bool
	open  int // requests that wait for an answer
	cwd   string
	more  []string
}

// sorted is what is to be done about a line.
type sorted struct {
	session string
	lines   []transcript.Message // to be recorded now
	settled bool                 // with it all requests of the session are answered
	secrets []string             // values in it that are secrets
	more    []string             // additional folders that it names
}

func newDemux() demux {
	return demux{
		theirs: make(map[string]string), ours: make(map[string]string),
		opening: make(map[string]transcript.Message), sessions: make(map[string]*demuxed),
	}
}

// wireLine is what of a line says whose it is.
type wireLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Session   string          `json:"sessionId"`
		RequestID json.RawMessage `json:"requestId"`
		Cwd       string          `json:"cwd"`
		More      []string        `json:"additionalDirectories"`
		Servers   []struct {
			Env, Headers []struct{ Value string }
			URL          string
			Args         []string
		} `json:"mcpServers"`
	} `json:"params"`
	Result struct {
		Session string `json:"sessionId"`
	} `json:"result"`
}

func (d *demux) session(id string) *demuxed {
	s := d.sessions[id]
	if s == nil {
		s = &demuxed{}
		d.sessions[id] = s
	}
	return s
}

// begin says that a session is recorded from now on, and gives the lines that it has had.
func (d *demux) begin(id string) []transcript.Message {
	s := d.session(id)
	s.begun = true
	early := append(slices.Clone(d.prologue), s.early...)
	s.early = nil
	return early
}

func (d *demux) cwd(id string) string    { return d.session(id).cwd }
func (d *demux) more(id string) []string { return d.session(id).more }

// settled says whether all requests of a session are answered.
func (d *demux) settled(id string) bool { return d.session(id).open == 0 }

// take takes a line of the client's (in) or of the agent's.
func (d *demux) take(line []byte, in bool) sorted {
	var l wireLine
	if json.Unmarshal(line, &l) != nil {
		return sorted{} // the agent refuses it, whatever it was about
	}
	m := transcript.Message{Out: slices.Clone(line)}
	if in {
		m = transcript.Message{In: slices.Clone(line)}
	}
	out := sorted{secrets: l.secrets()}
	switch {
	case l.Method == "" && in:
		out.session = d.ours[string(l.ID)]
		delete(d.ours, string(l.ID))
	case l.Method == "":
		return d.answer(l, m)
	case l.Method == "initialize":
		d.prologue, d.initial = append(d.prologue, m), string(l.ID)
		return out
	case l.Method == "session/new" && in:
		d.opening[string(l.ID)] = m
		return out
	case l.Params.RequestID != nil && in:
		out.session = d.theirs[string(l.Params.RequestID)]
	case l.Params.RequestID != nil:
		out.session = d.ours[string(l.Params.RequestID)]
	default:
		out.session, out.more = l.Params.Session, l.Params.More
		d.asks(l, in)
	}
	d.add(&out, m)
	return out
}

// asks notes a request about a session, and where it says the session works.
func (d *demux) asks(l wireLine, in bool) {
	if l.Params.Session == "" {
		return
	}
	s := d.session(l.Params.Session)
	if l.Params.Cwd != "" {
		s.cwd, s.more = l.Params.Cwd, l.Params.More
	}
	switch {
	case l.ID == nil:
	case in:
		d.theirs[string(l.ID)] = l.Params.Session
		s.open++
	default:
		d.ours[string(l.ID)] = l.Params.Session
	}
}

// answer takes the agent's answer to a request.
func (d *demux) answer(l wireLine, m transcript.Message) sorted {
	id := string(l.ID)
	if id == d.initial && d.initial != "" {
		d.prologue, d.initial = append(d.prologue, m), ""
		return sorted{}
	}
	if asked, ok := d.opening[id]; ok {
		delete(d.opening, id)
		out := sorted{session: l.Result.Session}
		if out.session == "" {
			return out // it was refused
		}
		var l wireLine
		if json.Unmarshal(asked.In, &l) == nil {
			out.more = l.Params.More
		}
		d.add(&out, asked)
		d.add(&out, m)
		out.settled = d.settled(out.session)
		return out
	}
	out := sorted{session: d.theirs[id]}
	delete(d.theirs, id)
	if out.session == "" {
		return out
	}
	d.session(out.session).open--
	d.add(&out, m)
	out.settled = d.settled(out.session)
	return out
}

// add gives a line to its session: to be recorded, or to be kept until it is.
func (d *demux) add(out *sorted, m transcript.Message) {
	if out.session == "" {
		return
	}
	s := d.session(out.session)
	if s.begun {
		out.lines = append(out.lines, m)
		return
	}
	const most = 64 // of a session that never begins
	if len(s.early) < most {
		s.early = append(s.early, m)
	}
}

// secrets are the values in a request that names MCP servers: those of variables and headers, and what addresses and
// arguments hand over under a name that tells.
func (l wireLine) secrets() []string {
	var out []string
	for _, s := range l.Params.Servers {
		for _, e := range append(s.Env, s.Headers...) {
			out = append(out, e.Value)
		}
		out = append(out, sharedSecrets(s.URL, s.Args)...)
	}
	return out
}
