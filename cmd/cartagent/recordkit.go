package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/skills"
)

// watch records what a session gets from outside, and what came of asking for it.
func (r *recording) watch(s agent.Setup, out *outside, asked *asides, err error) (*outside, error) {
	session := r.find(s.Session)
	if session == nil {
		return out, err
	}
	rec := session.recorder
	r.mu.Lock()
	r.work(session, s.Roots[1:])
	more := slices.Clone(session.more)
	r.mu.Unlock()
	opening := transcript.Opening{Model: s.Model}
	if err != nil {
		opening.Failure = &loop.Failure{Kind: loop.FailInternal, Message: err.Error()}
		if f, ok := errors.AsType[*loop.Failure](err); ok {
			opening.Failure = f
		}
		rec.Snap(transcript.Snapshot{Open: &opening})
		return nil, err
	}
	project := r.p.cfg.projectIn(s.Roots[0])
	r.mu.Lock()
	for _, spec := range project.mcp {
		r.secrets.Add(spec.hidden...)
	}
	r.mu.Unlock()
	opening.Rules, opening.Index = out.rules, out.index
	for _, o := range out.off {
		opening.Off = append(opening.Off, transcript.Off(o))
	}
	rec.Manifest(func(m *transcript.Manifest) { m.Clock = append(m.Clock, out.now.Format(time.RFC3339Nano)) })
	rec.Snap(transcript.Snapshot{Open: &opening})
	r.instructions(session, s.Roots[0])
	seen := *out
	seen.servers = &recordedServers{out.servers, rec, asked}
	seen.model = func(name, thinking string) (loop.Model, error) {
		m, err := out.model(name, thinking)
		if err != nil {
			rec.NoModel(err)
			return nil, err
		}
		return rec.Model(m), nil
	}
	seen.own = func(all []loop.Tool) []loop.Tool {
		all = slices.Clone(out.own(all))
		for i, t := range all {
			source := toolSource(t.Spec().Name, s.Roots[0], more)
			source.Prepare = out.prepare
			all[i] = rec.Tool(t, source)
		}
		return all
	}
	return &seen, nil
}

// recordedServers tells the recorder what servers are asked and what they say.
type recordedServers struct {
	serverSet
	recorder *transcript.Recorder
	asked    *asides
}

func (s *recordedServers) states() []agent.Server {
	all := s.serverSet.states()
	out := make([]transcript.Server, len(all))
	for i, v := range all {
		out[i] = transcript.Server(v)
	}
	s.recorder.Snap(transcript.Snapshot{Servers: &out})
	return all
}

func (s *recordedServers) tools() []loop.Tool {
	all := s.serverSet.tools()
	specs := make([]loop.Spec, len(all))
	out := make([]loop.Tool, len(all))
	for i, t := range all {
		specs[i] = t.Spec()
		out[i] = s.recorder.Tool(t, transcript.Source{Server: serverOf(specs[i].Name)})
	}
	s.recorder.Snap(transcript.Snapshot{Tools: &specs})
	return out
}

// serverOf is what of a tool's name says whose it is.
func serverOf(tool string) string {
	server, _, ok := strings.Cut(tool, "__")
	if !ok {
		return "any" // mcp_read, which names the server in its arguments
	}
	return server
}

func (s *recordedServers) commands() []agent.SlashCommand {
	all := s.serverSet.commands()
	list := make([]transcript.Command, len(all))
	out := make([]agent.SlashCommand, len(all))
	for i, c := range all {
		list[i] = transcript.Command{Name: c.Name, Description: c.Description, Hint: c.Hint}
		out[i] = c
		out[i].Expand = func(ctx context.Context, text string) (loop.Blocks, error) {
			blocks, err := c.Expand(ctx, text)
			if f := s.fetched(c.Name, text, blocks, err); ctx.Err() == nil {
				s.recorder.Snap(transcript.Snapshot{Prompt: f})
			}
			return blocks, err
		}
	}
	s.recorder.Snap(transcript.Snapshot{Commands: &list})
	return out
}

func (s *recordedServers) resource(ctx context.Context, server, uri string) (loop.Blocks, error) {
	blocks, err := s.serverSet.resource(ctx, server, uri)
	if f := s.fetched(server, uri, blocks, err); ctx.Err() == nil {
		s.recorder.Snap(transcript.Snapshot{Resource: f})
	}
	return blocks, err
}

func (s *recordedServers) fetched(name, text string, blocks loop.Blocks, err error) *transcript.Fetched {
	f := &transcript.Fetched{Name: name, Text: text, Asked: s.asked.take(), Content: blocks}
	if err != nil {
		f.Failure = err.Error()
	}
	return f
}

// asides are the questions of servers that are about no call, since they were last taken: a session fetches one thing at a
// time.
type asides struct {
	ask func(ctx context.Context, server string, q loop.Question) (loop.Answer, error)

	mu  sync.Mutex
	all []transcript.Aside
}

func (a *asides) put(ctx context.Context, server string, q loop.Question) (loop.Answer, error) {
	a.mu.Lock()
	a.all = append(a.all, transcript.Aside{Server: server, Question: q})
	a.mu.Unlock()
	return a.ask(ctx, server, q)
}

func (a *asides) take() []transcript.Aside {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.all
	a.all = nil
	return all
}

// repository is the root of the repository that a folder lies in, else the folder itself.
func repository(cwd string) (root string, git bool) {
	root = skills.GitRoot(cwd)
	_, err := os.Lstat(filepath.Join(root, ".git"))
	return root, err == nil
}

// instructions records what the session is told of: AGENTS.md files and skills.
func (r *recording) instructions(s *recorded, cwd string) {
	root, _ := repository(cwd)
	names := guides(root, cwd)
	for _, name := range filesIn(filepath.Join(cwd, ".agents", "skills"), s.recorder.Missing) {
		if rel, ok := beneathRoot(root, filepath.Join(cwd, ".agents", "skills", filepath.FromSlash(name))); ok {
			names = append(names, rel)
		}
	}
	s.recorder.Reads(names...)
	if r.p.cfg.dir == "" {
		return
	}
	own := []string{"AGENTS.md"}
	for _, name := range filesIn(filepath.Join(r.p.cfg.dir, "skills"), s.recorder.Missing) {
		own = append(own, path.Join("skills", name))
	}
	for _, name := range own {
		data, err := os.ReadFile(filepath.Join(r.p.cfg.dir, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil || !transcript.Nameable(name):
			s.recorder.Missing("the file " + name + " of the configuration folder")
		default:
			s.recorder.ConfigFile(name, data)
		}
	}
}

// filesIn lists the files in a folder of skills, links followed one level down, as many as there may be.
func filesIn(dir string, missing func(string)) []string {
	const most = 200
	var out []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there are no skills
	}
	for _, e := range entries {
		base := filepath.Join(dir, e.Name())
		if actual, err := filepath.EvalSymlinks(base); err == nil {
			base = actual
		}
		err := filepath.WalkDir(base, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(base, at)
			if info, infoErr := d.Info(); err != nil || infoErr != nil || info.Size() > 1<<20 || len(out) >= most {
				missing("the file " + rel + " of the skill " + e.Name())
				return err
			}
			out = append(out, path.Join(e.Name(), filepath.ToSlash(rel)))
			return nil
		})
		if err != nil {
			missing("the skill " + e.Name())
		}
	}
	return out
}

// guides are the AGENTS.md files from the root down to a folder, by their names from the root.
func guides(root, dir string) []string {
	rel, ok := beneathRoot(root, dir)
	if !ok {
		return nil
	}
	out := []string{"AGENTS.md"}
	at := ""
	for part := range strings.SplitSeq(rel, "/") {
		if at = path.Join(at, part); at != "." {
			out = append(out, path.Join(at, "AGENTS.md"))
		}
	}
	return out
}

// beneathRoot is a path from the root on, in slashes.
func beneathRoot(root, at string) (string, bool) {
	for _, base := range []string{root, realPath(root)} {
		if rel, err := filepath.Rel(base, at); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

func realPath(at string) string {
	if actual, err := filepath.EvalSymlinks(at); err == nil {
		return actual
	}
	return at
}

// onPaper is the name in a recording of what is at a path: in the deepest of the folders that hold it, as tools see it.
func onPaper(root, abs string, more []folderOnPaper) string {
	out, depth := "../"+filepath.Base(abs), -1 // which is no name in the workspace
	if rel, ok := beneathRoot(root, abs); ok {
		out, depth = rel, len(root)
	}
	for _, f := range more {
		if rel, ok := beneathRoot(f.dir, abs); ok && len(f.dir) > depth {
			out, depth = f.paper, len(f.dir)
			if rel != "." {
				out += "/" + rel
			}
		}
	}
	return out
}

// toolSource says what a tool of our own looks at.
func toolSource(tool, cwd string, more []folderOnPaper) transcript.Source {
	root, _ := repository(cwd)
	type arguments struct {
		Path *string `json:"path"`
	}
	at := func(args json.RawMessage) (abs, rel string, ok bool) {
		var a arguments
		if json.Unmarshal(args, &a) != nil {
			return "", "", false
		}
		abs = cwd
		if a.Path != nil && *a.Path != "" {
			if abs = *a.Path; !filepath.IsAbs(abs) {
				abs = filepath.Join(cwd, abs)
			}
		}
		abs = filepath.Clean(abs)
		return abs, onPaper(root, abs, more), true
	}
	switch tool {
	case "read", "write", "edit", "patch":
		return transcript.Source{Reads: func(args json.RawMessage) ([]string, bool) {
			abs, rel, ok := at(args)
			if !ok {
				return nil, false
			}
			return append([]string{rel}, guides(root, filepath.Dir(abs))...), true
		}}
	case "list", "search":
		return transcript.Source{Reads: func(args json.RawMessage) ([]string, bool) {
			abs, rel, ok := at(args)
			if info, err := os.Stat(abs); ok && err == nil && info.IsDir() {
				rel += "/"
			}
			return []string{rel}, ok
		}}
	case "terminal":
		return transcript.Source{Outside: true}
	}
	return transcript.Source{}
}
