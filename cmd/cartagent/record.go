package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/loop"
)

// recording writes the sessions of one connection to files. It stands between the agent and its client, its store and
// what is outside, and changes nothing of what goes through it. Each time a session's requests are all answered its file
// is replaced as a whole, so a file never ends in the middle of a turn.
type recording struct {
	p      *program
	path   func(acp.SessionID) string // the file of a session
	failed func(error)
	wrote  func(*transcript.Scenario) // gets what was recorded, in place of the file; nil for none
	whole  bool                       // all files of the workspace are recorded, read or not

	mu      sync.Mutex
	secrets transcript.Secrets
	lines   demux
	open    map[acp.SessionID]*recorded
	models  map[string]transcript.Models
}

// recorded is a session that is recorded.
type recorded struct {
	id       acp.SessionID
	cwd      string
	root     string // of the recorded folder; empty for none
	names    *transcript.Names
	recorder *transcript.Recorder
	more     []folderOnPaper // the additional folders that are not in root, in the order in which they came
}

// folderOnPaper is a folder with its name in a recording.
type folderOnPaper struct{ dir, paper string }

// record has the sessions of a program recorded. failed hears why a file could not be written.
func (p *program) record(path func(acp.SessionID) string, failed func(error)) *recording {
	r := &recording{
		p: p, path: path, failed: failed, lines: newDemux(),
		open: make(map[acp.SessionID]*recorded), models: make(map[string]transcript.Models),
	}
	r.secrets.Add(knownSecrets(p.cfg, os.Environ())...)
	over, world := p.over, p.outside
	p.over = func(o agent.Options) agent.Options { return r.options(over(o)) }
	p.outside = func(ctx context.Context, s agent.Setup) (*outside, error) {
		asked := &asides{ask: s.Ask}
		s.Ask = asked.put
		out, err := world(ctx, s)
		return r.watch(s, out, asked, err)
	}
	return r
}

// telling are names of variables that hold secrets.
var telling = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH)`)

// knownSecrets are the secrets of the configuration and the environment.
func knownSecrets(cfg *config, environ []string) []string {
	var out []string
	stored, _, err := cfg.keyFile().read()
	if err != nil {
		stored = nil // then nothing of it is used either
	}
	for _, keys := range []map[string]credentials{cfg.envKeys, cfg.keys, stored} {
		for _, c := range keys {
			out = append(out, c.key)
		}
	}
	for _, spec := range cfg.MCP {
		out = append(out, spec.hidden...)
	}
	for _, kv := range environ {
		// What is a path is no secret, such as that of the socket of an agent that has some.
		if name, value, ok := strings.Cut(kv, "="); ok && telling.MatchString(name) && !strings.HasPrefix(value, "/") && len(value) >= 8 {
			out = append(out, value)
		}
	}
	return out
}

// options are the agent's, with the recording before its store.
func (r *recording) options(o agent.Options) agent.Options {
	o.Store = recordedStore{o.Store, r}
	models := o.Models
	o.Models = func(cwd, chosen string) []agent.Model {
		out := models(cwd, chosen)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.models[chosen] = modelsOf(out)
		return out
	}
	return o
}

func modelsOf(list []agent.Model) transcript.Models {
	out := make(transcript.Models, len(list))
	for i, m := range list {
		out[i] = transcript.ModelInfo(m)
	}
	return out
}

// begin begins to record a session, unless it is recorded already.
func (r *recording) begin(id acp.SessionID, cwd string) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.open[id]; s != nil {
		return s
	}
	root, git := repository(cwd)
	s := &recorded{id: id, cwd: cwd, names: transcript.NewNames("")}
	m := transcript.Manifest{Version: version(), Platform: runtime.GOOS, Git: git, Bypass: r.p.bypass}
	_ = s.names.CountText(string(id)) // it is the first
	if root == filepath.Dir(root) {
		root = "" // everything would be in it
		m.Missing = append(m.Missing, "the session's folder is the top of the file system, and its files are not recorded")
	} else {
		r.folders(s, root)
	}
	m.Cwd = s.names.CountText(cwd)
	s.root = root
	s.recorder = transcript.NewRecorder(s.names, root, m)
	r.readAll(s, transcript.Workspace)
	r.work(s, r.lines.more(string(id)))
	s.recorder.Lines(r.lines.begin(string(id))...)
	r.open[id] = s
	return s
}

// folders are the session's folders by their names on paper.
func (r *recording) folders(s *recorded, root string) {
	s.names.Folder(root, transcript.Workspace)
	if actual, err := filepath.EvalSymlinks(root); err == nil && actual != root {
		s.names.Folder(actual, transcript.Workspace)
	}
	if dir, err := filepath.Abs(r.p.cfg.dir); err == nil && r.p.cfg.dir != "" {
		s.names.Folder(dir, configFolder)
	}
}

// work adds the additional folders that a session works in. What is in the recorded folder has its name there. The
// caller holds mu.
func (r *recording) work(s *recorded, dirs []string) {
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		if _, inside := beneathRoot(s.root, dir); inside && s.root != "" {
			continue
		}
		if slices.ContainsFunc(s.more, func(f folderOnPaper) bool { return f.dir == dir }) {
			continue
		}
		if dir == filepath.Dir(dir) {
			s.recorder.Missing("an additional folder is the top of the file system, and its files are not recorded")
			continue
		}
		f := folderOnPaper{dir, fmt.Sprintf("%s-%d", transcript.Workspace, len(s.more)+2)}
		s.more = append(s.more, f)
		s.names.Folder(dir, f.paper)
		if actual := realPath(dir); actual != dir {
			s.names.Folder(actual, f.paper)
		}
		s.recorder.Folder(f.paper, dir)
		r.readAll(s, f.paper)
	}
}

// readAll has all files of a folder recorded, where they are to be.
func (r *recording) readAll(s *recorded, folder string) {
	if !r.whole {
		return
	}
	if err := s.recorder.ReadsAll(folder); err != nil {
		s.recorder.Missing(folder + ": " + err.Error())
	}
}

// configFolder is the configuration folder, on paper.
const configFolder = "/config"

// find is a session that is recorded; nil for one that is not.
func (r *recording) find(id acp.SessionID) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[id]
}

// taken is what of a session is recorded so far.
func (r *recording) taken(s *recorded) *transcript.Scenario {
	sc := s.recorder.Scenario()
	r.mu.Lock()
	defer r.mu.Unlock()
	sc.Header = "A session of cartagent, recorded. `cartagent replay` plays it.\n\n"
	sc.Manifest.Models = maps.Clone(r.models)
	if first := r.models[""]; len(first) > 0 {
		sc.Manifest.Model = first[0].ID
	}
	return sc
}

// save replaces the session's file.
func (r *recording) save(s *recorded, sc *transcript.Scenario) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrote != nil {
		r.wrote(sc)
		return
	}
	data, err := r.secrets.Format(sc)
	if err == nil {
		err = replaceFile(r.path(s.id), ".cartagent-record", data)
	}
	if err != nil {
		r.failed(fmt.Errorf("recording the session %s: %w", s.id, err))
	}
}

// close writes the files a last time, with what came after the last answer.
func (r *recording) close() {
	r.mu.Lock()
	var all []*recorded
	for _, s := range r.open {
		all = append(all, s)
	}
	r.mu.Unlock()
	for _, s := range all {
		r.mu.Lock()
		settled := r.lines.settled(string(s.id))
		r.mu.Unlock()
		if settled {
			r.save(s, r.taken(s))
		}
		if err := s.recorder.Close(); err != nil {
			r.failed(err)
		}
	}
}

// conn is a connection whose lines are recorded.
func (r *recording) conn(c io.ReadWriteCloser) io.ReadWriteCloser {
	return &tap{ReadWriteCloser: c, recording: r}
}

// tap records the lines of a connection: one in when it was read, one out before anybody can answer it.
type tap struct {
	io.ReadWriteCloser
	recording *recording
	partial   []byte // the reader's own
}

// Read implements io.Reader.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.ReadWriteCloser.Read(p)
	t.partial = append(t.partial, p[:n]...)
	for {
		line, rest, ok := strings.Cut(string(t.partial), "\n")
		if !ok && (err == nil || line == "") {
			return n, err
		}
		t.recording.line([]byte(line), true)
		t.partial = []byte(rest)
	}
}

// Write implements io.Writer. What is written is one line.
func (t *tap) Write(line []byte) (int, error) {
	done := t.recording.line(line, false)
	n, err := t.ReadWriteCloser.Write(line)
	done()
	return n, err
}

// line records a line. What it returns is to be called when the line is out.
func (r *recording) line(line []byte, in bool) func() {
	nothing := func() {}
	r.mu.Lock()
	got := r.lines.take(line, in)
	r.secrets.Add(got.secrets...)
	s := r.open[acp.SessionID(got.session)]
	if s != nil {
		r.work(s, got.more)
	}
	r.mu.Unlock()
	if s == nil {
		return nothing
	}
	s.recorder.Lines(got.lines...)
	if got.settled { // what comes after it belongs to the next turn
		sc := r.taken(s)
		return func() { r.save(s, sc) }
	}
	return nothing
}

// recordedStore tells the recording what is in the logs of sessions.
type recordedStore struct {
	agent.Store
	recording *recording
}

// Create implements agent.Store.
func (s recordedStore) Create(ctx context.Context, id acp.SessionID, cwd string, created time.Time) (agent.Log, error) {
	l, err := s.Store.Create(ctx, id, cwd, created)
	if err != nil {
		return nil, err
	}
	return recordedLog{l, s.recording.begin(id, cwd).recorder}, nil
}

// Lease implements agent.Store.
func (s recordedStore) Lease(ctx context.Context, id acp.SessionID) (agent.Log, error) {
	l, err := s.Store.Lease(ctx, id)
	if err != nil {
		return nil, err
	}
	if known := s.recording.find(id); known != nil {
		return recordedLog{l, known.recorder}, nil
	}
	s.recording.mu.Lock()
	cwd := s.recording.lines.cwd(string(id))
	s.recording.mu.Unlock()
	r := s.recording.begin(id, cwd)
	inputs, err := all(s.Inputs(ctx, id))
	if err == nil {
		err = r.recorder.Loaded(inputs)
	}
	if err != nil {
		r.recorder.Missing("the session's log from before: " + err.Error())
	}
	return recordedLog{l, r.recorder}, nil
}

func all(inputs iter.Seq2[loop.Input, error]) ([]loop.Input, error) {
	var out []loop.Input
	for in, err := range inputs {
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

// recordedLog tells a recorder what is in the log.
type recordedLog struct {
	agent.Log
	recorder *transcript.Recorder
}

// Append implements loop.Log.
func (l recordedLog) Append(in ...loop.Input) error {
	if err := l.Log.Append(in...); err != nil {
		return err
	}
	for _, i := range in {
		l.recorder.Input(i)
	}
	return nil
}

// recordTo is the file for the only session of a run. The folder must be there.
func recordTo(file string) (func(acp.SessionID) string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("--record %s: it is no regular file; name the file to write", file)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--record %s: there is no folder %s; make it first", file, filepath.Dir(path))
	}
	path = linked(path)
	return func(acp.SessionID) string { return path }, nil
}

// recordInto are files in a folder, which is made if it is not there.
func recordInto(dir string) (func(acp.SessionID) string, error) {
	path, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--record %s: the folder cannot be made", dir), err)
	}
	return func(id acp.SessionID) string { return filepath.Join(path, string(id)+".txtar") }, nil
}
