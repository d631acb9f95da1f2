package transcript

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The limits of what is recorded of a workspace.
const (
	maxCaptured = 1 << 20 // of one file
	maxTree     = 200     // files of a folder that is looked at as a whole
	maxTreeSize = 512 << 10
)

// files is what a replay's workspace would hold: the files that were seen, as they were seen. It tells what must be
// laid out before each call, so that the call sees the same in a replay.
type files struct {
	roots map[string]*os.Root // by their names on paper
	first map[string]string   // as they were when the session began
	now   map[string]*Content // nil: not there
	trees []string            // folders of which everything is known
	moved bool                // some call has looked at a folder: what is seen from now on was not there for it
}

func newFiles(folder string) *files {
	f := &files{roots: map[string]*os.Root{}, first: map[string]string{}, now: map[string]*Content{}}
	if folder != "" {
		f.add(Workspace, folder)
	}
	return f
}

// add adds a folder.
func (f *files) add(paper, folder string) {
	if root, err := os.OpenRoot(folder); err == nil && f.roots[paper] == nil {
		f.roots[paper] = root
	}
}

// close gives the folders free.
func (f *files) close() error {
	var errs []error
	for _, root := range f.roots {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}

// errTooMuch says why something is not recorded.
type errTooMuch string

func (e errTooMuch) Error() string { return string(e) }

// secretive are names of files that nobody means to hand on.
var secretive = regexp.MustCompile(`(?i)(^|/)(\.env(\..*)?|\.netrc|\.npmrc|\.pypirc|id_[a-z0-9]+|.*\.(pem|key|p12|pfx|keystore)|credentials(\.json)?)$`)

// read is a file as it is now; nil where there is none.
func (f *files) read(name string) (*Content, error) {
	folder, name := split(name)
	root := f.roots[folder]
	if root == nil {
		return nil, errTooMuch("the workspace is not recorded")
	}
	if !Nameable(name) {
		return nil, errTooMuch("it is outside of the recorded folder, or has a name that cannot be recorded")
	}
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // that it is not there is no error
	case err != nil:
		return nil, errTooMuch("a file of it cannot be read")
	case !info.Mode().IsRegular():
		return nil, errTooMuch("it is no regular file")
	case info.Size() > maxCaptured:
		return nil, errTooMuch("a file of it is larger than 1 MiB")
	case secretive.MatchString(name):
		return nil, errTooMuch("a file of it usually holds secrets: " + name)
	}
	data, err := root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, errTooMuch("a file of it cannot be read")
	}
	c := Content(data)
	return &c, nil
}

// tree lists the files in a folder, itself "" at the top.
func (f *files) tree(dir string) ([]string, error) {
	folder, dir := split(dir)
	root := f.roots[folder]
	if root == nil {
		return nil, errTooMuch("the workspace is not recorded")
	}
	var out []string
	size := int64(0)
	children := map[string]int{}
	top := path.Clean("./" + dir)
	err := fs.WalkDir(root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return errTooMuch("a folder of it cannot be read")
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		}
		children[path.Dir(name)]++
		if d.IsDir() {
			children[name] += 0
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || !Nameable(name) {
			return errTooMuch("there are links or special files in it")
		}
		out = append(out, nameIn(folder, name))
		size += info.Size()
		if len(out) > maxTree || size > maxTreeSize {
			return errTooMuch("the folder is too large to be recorded as a whole")
		}
		return nil
	})
	for name, n := range children {
		if n == 0 && err == nil && name != "." && name != top {
			err = errTooMuch("there are empty folders in it")
		}
	}
	return out, err
}

// see takes files in that are read before anything is done.
func (f *files) see(names []string) {
	for _, name := range names {
		if _, known := f.now[name]; known {
			continue
		}
		if c, err := f.read(name); err == nil && c != nil {
			f.take(name, c)
		}
	}
}

// take notes what a file is, and returns whether a replay has to be told here.
func (f *files) take(name string, c *Content) bool {
	before, known := f.now[name]
	f.now[name] = c
	if !known && !f.moved {
		if c != nil {
			f.first[name] = string(*c)
		}
		return false
	}
	if before == nil || c == nil {
		return before != c
	}
	return string(*before) != string(*c)
}

// look takes in the files that a call looks at. It returns those that have changed since, or why the call cannot see
// the same again.
func (f *files) look(names []string) (Disk, string) {
	disk := Disk{}
	folder := false
	all := slices.Clone(names)
	for _, name := range names {
		dir, is := strings.CutSuffix(name, "/")
		if is {
			folder = true
			in, err := f.tree(strings.TrimSuffix(dir, "."))
			if err != nil {
				return nil, err.Error()
			}
			all = append(all, in...)
			f.trees = append(f.trees, strings.TrimSuffix(dir, "."))
			all = append(all, f.within(dir)...)
		}
	}
	for _, name := range all {
		if strings.HasSuffix(name, "/") {
			continue
		}
		c, err := f.read(name)
		if err != nil {
			return nil, err.Error()
		}
		if f.take(name, c) {
			disk[name] = c
		}
	}
	f.moved = f.moved || folder
	if len(disk) == 0 {
		return nil, ""
	}
	return disk, ""
}

// within are the known files in a folder: one that is gone by now is no longer listed.
func (f *files) within(dir string) []string {
	folder, dir := split(dir)
	prefix := path.Clean("./"+dir) + "/"
	var out []string
	for name := range f.now {
		if in, rel := split(name); in == folder && (prefix == "./" || strings.HasPrefix(rel, prefix)) {
			out = append(out, name)
		}
	}
	return out
}

// did takes in what a call of our own, which a replay repeats, has made of files.
func (f *files) did(names []string) {
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if c, err := f.read(name); err == nil {
			f.now[name] = c
		}
	}
}

// left is what has become of the known files, and of what is in known folders, while something ran that a replay does
// not repeat.
func (f *files) left() Disk {
	disk := Disk{}
	names := slices.Collect(maps.Keys(f.now))
	for _, dir := range f.trees {
		if in, err := f.tree(dir); err == nil {
			names = append(names, in...)
		}
	}
	for _, name := range names {
		if c, err := f.read(name); err == nil && f.takeLate(name, c) {
			disk[name] = c
		}
	}
	if len(disk) == 0 {
		return nil
	}
	return disk
}

// takeLate is take for what something outside has done: it was not so in the beginning.
func (f *files) takeLate(name string, c *Content) bool {
	if _, known := f.now[name]; !known {
		f.now[name] = nil
	}
	return f.take(name, c)
}

// absent says whether one of the files is not there, or not known.
func (f *files) absent(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f.now[name] == nil && !strings.HasSuffix(name, "/") })
}

func (f *files) before() map[string]string { return maps.Clone(f.first) }

func (f *files) after() map[string]string {
	out := map[string]string{}
	for name, c := range f.now {
		if c != nil {
			out[name] = string(*c)
		}
	}
	return out
}
