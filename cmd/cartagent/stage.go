package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
	"github.com/cartagent/cartagent/session"
	"github.com/cartagent/cartagent/tools"
	"github.com/charmbracelet/log"
)

// stage is where a recorded session is played: folders for its workspace and its configuration, and names for them.
type stage struct {
	base, work string
	names      *transcript.Names
	where      transcript.Folders
}

var moreFolders = regexp.MustCompile(regexp.QuoteMeta(transcript.Workspace) + `-[0-9]+\b`)

// newStage lays a session's files out in a new folder, which close removes.
func newStage(s *transcript.Scenario, names func(work string) *transcript.Names) (st *stage, err error) {
	base, err := os.MkdirTemp("", "cartagent-replay-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the replay: %w", err)
	}
	st = &stage{base: realPath(base)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("laying out the files of the replay: %w", err), st.close())
		}
	}()
	st.work = filepath.Join(st.base, "work")
	st.names = names(st.work)
	config := filepath.Join(st.base, "conf")
	st.names.Folder(config, configFolder)
	folders := []string{st.work, config}
	st.where = transcript.Folders{transcript.Workspace: st.work}
	if s.Manifest.Git {
		folders = append(folders, filepath.Join(st.work, ".git"))
	}
	if rel, ok := strings.CutPrefix(s.Manifest.Cwd, transcript.Workspace+"/"); ok && filepath.IsLocal(rel) {
		folders = append(folders, filepath.Join(st.work, rel))
	}
	for _, m := range s.Wire {
		for _, paper := range moreFolders.FindAllString(string(m.In), -1) {
			more := filepath.Join(st.base, filepath.Base(paper))
			if st.where[paper] == "" {
				st.names.Folder(more, paper)
				st.where[paper] = more
				folders = append(folders, more)
			}
		}
		folders = append(folders, st.inside(m.In)...)
	}
	for _, f := range folders {
		if err := os.MkdirAll(f, 0o755); err != nil {
			return st, err
		}
	}
	return st, errors.Join(st.where.Write(s.Before), transcript.WriteFiles(config, s.Config))
}

// inside are the additional folders in the workspace that a line of the client's names. They must be there.
func (st *stage) inside(line json.RawMessage) []string {
	var l wireLine
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	var out []string
	for _, paper := range l.Params.More {
		if rel, ok := strings.CutPrefix(paper, transcript.Workspace+"/"); ok && filepath.IsLocal(rel) {
			out = append(out, filepath.Join(st.work, rel))
		}
	}
	return out
}

func (st *stage) close() error { return os.RemoveAll(st.base) }

// replayed is a program for which everything outside is answered from a record.
func (st *stage) replayed(ctx context.Context, s *transcript.Scenario, r *transcript.Replay) (*program, error) {
	cfg := &config{
		Model: s.Manifest.Model, dir: filepath.Join(st.base, "conf"), chosen: true,
		env: func(string) string { return "" }, envKeys: map[string]credentials{}, keys: map[string]credentials{},
	}
	p := newProgram(cfg, log.New(io.Discard))
	store := session.NewMem(session.Options{})
	id := fmt.Sprintf("sess_%016d", 1)
	if wasThere(s) {
		if err := st.reload(ctx, store, session.Info{ID: id, Cwd: st.names.RealText(s.Manifest.Cwd)}, s.Log); err != nil {
			return nil, err
		}
	}
	p.store = func() (session.Store, error) { return store, nil }
	p.now = r.Now
	p.bypass = s.Manifest.Bypass
	p.tell = func(string) {}
	p.outside = func(_ context.Context, setup agent.Setup) (*outside, error) { return recordedOutside(setup, s, r) }
	made := 0
	p.over = func(o agent.Options) agent.Options {
		o.Info.Version = s.Manifest.Version
		o.Store = heardStore{o.Store, r.Input}
		o.Models = func(_, chosen string) []agent.Model { return modelsIn(s.Manifest, chosen) }
		o.Check, o.Logout = nil, func() error { return nil }
		o.Now = func() time.Time { return time.Unix(0, 0) } // nothing that a client sees
		o.NewID = func() acp.SessionID {
			made++
			return acp.SessionID(fmt.Sprintf("sess_%016d", made))
		}
		return o
	}
	return p, nil
}

// wasThere says whether the session was there before, be it without anything in its log.
func wasThere(s *transcript.Scenario) bool {
	for _, m := range s.Wire {
		var l wireLine
		if json.Unmarshal(m.In, &l) != nil {
			continue
		}
		switch l.Method {
		case "session/new":
			return len(s.Log) > 0
		case "session/load", "session/resume":
			return true
		}
	}
	return len(s.Log) > 0
}

func modelsIn(m transcript.Manifest, chosen string) []agent.Model {
	list, known := m.Models[chosen]
	if !known {
		list = m.Models[""]
	}
	out := make([]agent.Model, len(list))
	for i, v := range list {
		out[i] = agent.Model(v)
	}
	if len(out) == 0 {
		out = []agent.Model{{ID: m.Model, Name: m.Model, Offline: m.Model == offlineModel}}
	}
	return out
}

// reload puts the log that a session had before into a store.
func (st *stage) reload(ctx context.Context, store session.Store, info session.Info, records []transcript.Record) error {
	actual := make([]transcript.Record, len(records))
	for i, r := range records {
		actual[i] = transcript.Record{Kind: r.Kind, Body: st.names.Real(r.Body)}
	}
	inputs, err := transcript.Inputs(actual, "log.jsonl")
	if err != nil {
		return err
	}
	l, err := store.Create(ctx, info)
	if err != nil {
		return err
	}
	return errors.Join(l.Append(inputs...), l.Close())
}

// heardStore tells of what is appended to a log.
type heardStore struct {
	agent.Store
	heard func(loop.Input)
}

// Create implements agent.Store.
func (s heardStore) Create(ctx context.Context, id acp.SessionID, cwd string, created time.Time) (agent.Log, error) {
	l, err := s.Store.Create(ctx, id, cwd, created)
	if err != nil {
		return nil, err
	}
	return heardLog{l, s.heard}, nil
}

// Lease implements agent.Store.
func (s heardStore) Lease(ctx context.Context, id acp.SessionID) (agent.Log, error) {
	l, err := s.Store.Lease(ctx, id)
	if err != nil {
		return nil, err
	}
	return heardLog{l, s.heard}, nil
}

type heardLog struct {
	agent.Log
	heard func(loop.Input)
}

// Append implements loop.Log.
func (l heardLog) Append(in ...loop.Input) error {
	if err := l.Log.Append(in...); err != nil {
		return err
	}
	for _, i := range in {
		l.heard(i)
	}
	return nil
}

// recordedOutside is what was outside then.
func recordedOutside(setup agent.Setup, s *transcript.Scenario, r *transcript.Replay) (*outside, error) {
	opening, err := r.Open()
	if err != nil {
		return nil, err
	}
	out := &outside{
		now: r.Now(), platform: s.Manifest.Platform, rules: opening.Rules,
		model:   func(string, string) (loop.Model, error) { return r.Model() },
		servers: replayedServers{r, setup.Ask}, index: opening.Index, changed: r.Changed(), prepare: r.Prepare,
		terminal: func(t agent.Terminal) tools.Terminal { return replayedTerminal{clientsTerminal(t)} },
		own: func(all []loop.Tool) []loop.Tool {
			out := make([]loop.Tool, len(all))
			for i, t := range all {
				out[i] = r.Tool(t)
			}
			return out
		},
		close: func() error { return nil },
	}
	for _, o := range opening.Off {
		out.off = append(out.off, agent.Off(o))
	}
	return out, nil
}

// replayedServers are the servers as they were.
type replayedServers struct {
	replay *transcript.Replay
	ask    func(ctx context.Context, server string, q loop.Question) (loop.Answer, error)
}

func (s replayedServers) states() []agent.Server {
	list := s.replay.Servers()
	out := make([]agent.Server, len(list))
	for i, v := range list {
		out[i] = agent.Server(v)
	}
	return out
}

func (s replayedServers) tools() []loop.Tool {
	specs := s.replay.Tools()
	ours := []loop.Spec{mcpclient.ReadTool(nil).Spec(), mcpclient.SearchSpec()}
	out := make([]loop.Tool, len(specs))
	for i, spec := range specs {
		for _, own := range ours {
			if spec.Name == own.Name {
				spec = own // its words are of this build
			}
		}
		out[i] = s.replay.ServerTool(spec)
	}
	return out
}

func (s replayedServers) commands() []agent.SlashCommand {
	list := s.replay.Commands()
	out := make([]agent.SlashCommand, len(list))
	for i, c := range list {
		out[i] = agent.SlashCommand{
			Name: c.Name, Description: c.Description, Hint: c.Hint,
			Expand: func(ctx context.Context, text string) (loop.Blocks, error) {
				return s.replay.Prompt(c.Name, text, s.asks(ctx))
			},
		}
	}
	return out
}

func (s replayedServers) resource(ctx context.Context, server, uri string) (loop.Blocks, error) {
	return s.replay.Resource(server, uri, s.asks(ctx))
}

// asks puts a question to the client again. What comes of it is in the record.
func (s replayedServers) asks(ctx context.Context) func(transcript.Aside) {
	return func(a transcript.Aside) {
		_, _ = s.ask(ctx, a.Server, a.Question) // a client that answers otherwise shows in its own lines
	}
}

// replayedTerminal runs nothing here: commands go to the client's terminal, which is played, or nowhere.
type replayedTerminal struct{ client tools.Terminal }

// Run implements tools.Terminal.
func (t replayedTerminal) Run(ctx context.Context, c tools.Command, report func(loop.Block)) (tools.Exit, error) {
	if t.client == nil {
		return tools.Exit{}, transcript.ErrNothingRuns
	}
	exit, err := t.client.Run(ctx, c, report)
	if errors.Is(err, tools.ErrNoTerminal) {
		err = transcript.ErrNothingRuns
	}
	return exit, err
}
