package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/skills"
)

// The files in which a project configures cartagent, and how large one may be. In a folder, what the first says goes
// before what the second says.
const (
	projectConfig  = ".agents/config.json"
	projectServers = ".mcp.json"
	maxProjectFile = 1 << 20
)

// projectFile is one such file, as it was read. Nothing of it is in force unless the person trusts its very bytes.
type projectFile struct {
	folder string // the real path of the project's folder
	name   string // projectConfig or projectServers
	sum    string // hex SHA-256 of its bytes; empty where it could not be read

	model string
	mcp   map[string]serverSpec // its variables are not put in
	rules loop.Rules
	err   error // why it cannot be used, trusted or not
}

func (f *projectFile) path() string { return filepath.Join(f.folder, filepath.FromSlash(f.name)) }

// projectFolders are the folders whose files hold for a session: cwd, and the git root that holds it. Both by their
// real paths, the nearer one first.
func projectFolders(cwd string) ([]string, error) {
	actual, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return nil, err
	}
	folders := []string{actual}
	if root := skills.GitRoot(actual); root != actual {
		folders = append(folders, root)
	}
	return folders, nil
}

// projectFiles reads those of the files that are there, what goes before the others first.
func projectFiles(cwd string) []*projectFile {
	folders, err := projectFolders(cwd)
	if err != nil {
		return nil // there is no such folder, which others say better
	}
	var out []*projectFile
	for _, folder := range folders {
		for _, name := range []string{projectConfig, projectServers} {
			f := &projectFile{folder: folder, name: name}
			data, err := readBeneath(folders[len(folders)-1], f.path())
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				f.err = fmt.Errorf("%s: %w", f.path(), err)
			default:
				f.parse(data)
			}
			out = append(out, f)
		}
	}
	return out
}

// readBeneath reads a small regular file that lies beneath root, links and all.
func readBeneath(root, path string) (data []byte, err error) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, top.Close()) }()
	info, err := top.Stat(rel)
	if err != nil {
		return nil, notThere(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	file, err := top.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, maxProjectFile+1))
	if err == nil && len(data) > maxProjectFile {
		return nil, fmt.Errorf("it is larger than %d KiB", maxProjectFile>>10)
	}
	return data, err
}

// notThere tells apart why a file cannot be found beneath its root: because it is not there, or not beneath it.
func notThere(path string, err error) error {
	_, there := os.Stat(path)
	_, link := os.Lstat(path)
	switch {
	case there == nil:
		return errors.New("a link leads out of the project to it; put the file itself there")
	case link == nil:
		return errors.New("it is a link that leads nowhere")
	case errors.Is(there, fs.ErrNotExist) || errors.Is(there, syscall.ENOTDIR):
		return fs.ErrNotExist
	}
	return err
}

// parse reads what the file says.
func (f *projectFile) parse(data []byte) {
	sum := sha256.Sum256(data)
	f.sum = hex.EncodeToString(sum[:])
	d := &document{name: f.path()}
	known := fields{"mcpServers": func(p string, raw json.RawMessage) { f.mcp = d.servers(p, raw) }}
	if f.name == projectConfig {
		known["model"] = func(p string, raw json.RawMessage) {
			f.model = d.text(p, raw)
			if err := checkModel(f.model); err != nil {
				d.wrong(p, "%w", err)
			}
		}
		known["permissions"] = func(p string, raw json.RawMessage) { f.rules = d.rules(p, raw) }
	}
	d.read(data, func(d *document, raw json.RawMessage) { d.object("", raw, known) })
	if f.err = d.err(); f.err != nil {
		f.model, f.mcp, f.rules = "", nil, nil
	}
	for name, spec := range f.mcp {
		spec.dir = f.folder
		f.mcp[name] = spec
	}
}

// project is what a project's files say, as far as it is in force.
type project struct {
	model, modelFrom string
	rules            loop.Rules
	mcp              map[string]serverSpec   // ready to be connected
	broken           map[string]brokenServer // those whose variables are not there
	off              []offFile
}

type brokenServer struct {
	spec serverSpec
	err  error
}

// offFile is a file that is not in force.
type offFile struct {
	file *projectFile
	why  string
}

// trustHint is what to do about a file that is not trusted.
func trustHint(f *projectFile) string {
	return fmt.Sprintf("look at it and run `cartagent trust %s` to turn it on for new sessions", shown(f.folder))
}

// projectIn is what the files say that hold for cwd, and the person trusts.
func (c *config) projectIn(cwd string) *project {
	p := &project{mcp: make(map[string]serverSpec), broken: make(map[string]brokenServer)}
	files := projectFiles(cwd)
	if len(files) == 0 {
		return p
	}
	known, err := c.trustFile().read()
	for _, f := range files {
		switch state := known.state(f); {
		case f.err != nil:
			p.off = append(p.off, offFile{f, f.err.Error()})
		case err != nil:
			p.off = append(p.off, offFile{f, "what is trusted cannot be read: " + err.Error()})
		case state == trusted:
			p.add(f, c.env)
		case state == changed:
			p.off = append(p.off, offFile{f, "it has changed since it was trusted: " + trustHint(f)})
		default:
			p.off = append(p.off, offFile{f, "it is not trusted: " + trustHint(f)})
		}
	}
	return p
}

// add takes in a trusted file, behind those before it.
func (p *project) add(f *projectFile, env func(string) string) {
	if p.model == "" && f.model != "" {
		p.model, p.modelFrom = f.model, f.path()
	}
	p.rules = append(p.rules, f.rules...)
	for _, name := range slices.Sorted(maps.Keys(f.mcp)) {
		_, there := p.mcp[name]
		if _, broken := p.broken[name]; there || broken {
			continue
		}
		var errs []error
		spec := f.mcp[name]
		ready := spec.ready(env, func(key string, err error) {
			errs = append(errs, fmt.Errorf("%s: mcpServers.%s.%s: %w", f.path(), name, key, err))
		})
		if err := errors.Join(errs...); err != nil {
			p.broken[name] = brokenServer{spec, err}
			continue
		}
		p.mcp[name] = ready
	}
}
