package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ErrOutside is matched by the refusal of a path that leads out of the workspace.
var ErrOutside = errors.New("outside the workspace")

// maxLinks is how many symbolic links one path may go through.
const maxLinks = 40

// Workspace is the folders that a session may touch: its cwd and the additional ones. Files are opened beneath them
// through os.Root and in no other way. Its methods may be called from any goroutine.
type Workspace struct {
	roots []root
	locks locks
	mu    sync.Mutex
	left  []int // process groups that commands left behind
}

// root is one folder. name is the path by which the caller knows it, real the one without links.
type root struct {
	name, real string
	dir        *os.Root
	hidden     func() []string // what no tool may touch; see Hide
	guarded    func() []string // what no rule lets a tool change; see Guard
}

// place is a path that was mapped onto a root: rel names it beneath dir, "." being the root itself. None of the
// components of rel was a link when it was looked at.
type place struct {
	root *root
	rel  string
	info fs.FileInfo // nil when nothing is there
}

// abs is the place's absolute path, by the name the caller has for the root.
func (p place) abs() string { return filepath.Join(p.root.name, p.rel) }

// real is the place's absolute path without links: one file has one.
func (p place) real() string { return filepath.Join(p.root.real, p.rel) }

// Open opens the roots, which must be absolute paths of folders. The first is the cwd: relative paths begin there.
func Open(roots []string) (*Workspace, error) {
	if len(roots) == 0 {
		return nil, errors.New("opening the workspace: it needs at least one folder")
	}
	w := &Workspace{}
	for _, name := range roots {
		r, err := openRoot(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the workspace: %w", err), w.Close())
		}
		w.roots = append(w.roots, r)
	}
	return w, nil
}

func openRoot(name string) (root, error) {
	if !filepath.IsAbs(name) {
		return root{}, fmt.Errorf("the folder %q is not an absolute path", name)
	}
	name = filepath.Clean(name)
	actual, err := filepath.EvalSymlinks(name)
	if err != nil {
		return root{}, noFolder(name, err)
	}
	dir, err := os.OpenRoot(actual)
	if err != nil {
		return root{}, noFolder(name, err)
	}
	return root{name: name, real: actual, dir: dir}, nil
}

// noFolder says why a folder could not be opened.
func noFolder(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist", name)
	}
	if info, statErr := os.Stat(name); statErr == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", name)
	}
	return fmt.Errorf("the folder %s cannot be opened: %w", name, plain(err))
}

// CheckRoot says why Open would not open a folder.
func CheckRoot(name string) error {
	r, err := openRoot(name)
	if err != nil {
		return err
	}
	return r.dir.Close()
}

// Close ends the background processes that commands left behind and closes the roots.
func (w *Workspace) Close() error {
	w.endLeftovers()
	errs := make([]error, 0, len(w.roots))
	for _, r := range w.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

// Roots lists the folders, the cwd first.
func (w *Workspace) Roots() []string {
	out := make([]string, len(w.roots))
	for i, r := range w.roots {
		out[i] = r.name
	}
	return out
}

// Resolve gives the absolute path of what name, relative to the cwd or absolute, refers to once links are followed,
// and proves that it, or the deepest folder on the way to it that exists, lies beneath a root. Otherwise the error
// matches ErrOutside and shows where the path really leads.
func (w *Workspace) Resolve(_ context.Context, name string) (string, error) {
	p, err := w.locate(name)
	if err != nil {
		return "", err
	}
	return p.abs(), nil
}

// locate follows name, link by link, to a place beneath a root.
func (w *Workspace) locate(name string) (place, error) {
	if name == "" {
		return place{}, errors.New("the path is empty; use . for the current folder")
	}
	if strings.ContainsRune(name, 0) {
		return place{}, fmt.Errorf("the path %q has a NUL byte", name)
	}
	next := name
	if !filepath.IsAbs(next) {
		next = filepath.Join(w.roots[0].name, next)
	}
	for range maxLinks {
		r, rel, ok := w.mapOnto(filepath.Clean(next))
		if !ok {
			return place{}, w.outside(name, next)
		}
		p, link, err := r.walk(rel)
		if err != nil {
			return place{}, fmt.Errorf("looking at %s: %w", name, plain(err))
		}
		if link == "" && r.secrets().hold(p) {
			return place{}, fmt.Errorf("%s is not for tools: %w", name, ErrSecret)
		}
		if link == "" {
			return p, nil
		}
		next = link
	}
	return place{}, fmt.Errorf("%s goes through more than %d symbolic links", name, maxLinks)
}

// mapOnto finds the deepest root that holds an absolute path, by the root's name or its real path, or by the path's
// own real place.
func (w *Workspace) mapOnto(abs string) (*root, string, bool) {
	if r, rel, ok := w.within(abs); ok {
		return r, rel, true
	}
	if actual := deepestReal(abs); actual != abs {
		return w.within(actual)
	}
	return nil, "", false
}

func (w *Workspace) within(abs string) (*root, string, bool) {
	var best *root
	var bestRel string
	size := -1
	for i := range w.roots {
		r := &w.roots[i]
		for _, base := range []string{r.name, r.real} {
			if rel, ok := beneath(base, abs); ok && len(base) > size {
				best, bestRel, size = r, rel, len(base)
			}
		}
	}
	return best, bestRel, best != nil
}

// beneath is the path of abs from base, where base holds it. Both are clean.
func beneath(base, abs string) (string, bool) {
	rel, err := filepath.Rel(base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// deepestReal follows the links in the part of abs that exists and leaves the rest as it is.
func deepestReal(abs string) string {
	rest := ""
	for dir := abs; ; {
		if actual, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(actual, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// walk goes down rel, component by component. At a link it stops and returns the absolute path that the whole then
// stands for; whether that lies in a root is to be found out anew.
func (r *root) walk(rel string) (p place, link string, err error) {
	p = place{root: r, rel: rel}
	if rel == "." {
		p.info, err = r.dir.Stat(".")
		return p, "", err
	}
	parts := strings.Split(rel, string(filepath.Separator))
	for i := range parts {
		at := filepath.Join(parts[:i+1]...)
		info, err := r.dir.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return p, "", nil
		}
		if err != nil {
			return p, "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if i == len(parts)-1 {
				p.info = info
			}
			continue
		}
		target, err := r.dir.Readlink(at)
		if err != nil {
			return p, "", err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(r.real, filepath.Dir(at), target)
		}
		return p, filepath.Join(append([]string{target}, parts[i+1:]...)...), nil
	}
	return p, "", nil
}

func (w *Workspace) outside(name, leads string) error {
	actual := deepestReal(filepath.Clean(leads))
	where := ""
	if actual != name {
		where = " leads to " + actual + ", which"
	}
	return fmt.Errorf("%s%s is %w (%s): work on files inside it, or ask the person to add the folder",
		name, where, ErrOutside, strings.Join(w.Roots(), ", "))
}

// plain takes the name of the system call and the path out of a file error: the caller says which path it was.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// locks lets one goroutine at a time change a file, by its real path.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	mu    sync.Mutex
	users int
	key   string // of the call that holds it
}

// lockFor is lock for a call, by its idempotency key: until the file is free again it is written in that call's name.
func (l *locks) lockFor(file, key string) (unlock func()) {
	free := l.lock(file)
	l.name(file, key)
	return func() {
		l.name(file, "")
		free()
	}
}

func (l *locks) name(file, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[file].key = key
}

// temp is the name for a file until it is whole.
func (l *locks) temp(file string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.held[file]; k != nil {
		return tempName(k.key)
	}
	return tempName("")
}

// lock waits for the file and returns what gives it free again.
func (l *locks) lock(file string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[file]
	if k == nil {
		k = &lock{}
		l.held[file] = k
	}
	k.users++
	l.mu.Unlock()
	k.mu.Lock()
	return func() {
		k.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, file)
		}
	}
}
