package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrSecret is matched by the refusal of a file that holds keys of the person's. No permission opens such a file.
var ErrSecret = errors.New("it holds keys that only cartagent itself may read: go on without it")

// Hide keeps files, and folders with all that is in them, from every tool that works on files, wherever they lie and by
// whatever name they are reached. paths gives them anew for each look; those that are not there are left out. It is
// called before the workspace is used.
func (w *Workspace) Hide(paths func() []string) {
	for i := range w.roots {
		w.roots[i].hidden = paths
	}
}

// nodes are files and folders as they are on the disk: a link or another name of one leads to the same.
type nodes []fs.FileInfo

// secrets are those that are there now.
func (r *root) secrets() (out nodes) {
	if r.hidden == nil {
		return nil
	}
	for _, name := range r.hidden() {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		out = append(out, info)
		if !info.IsDir() {
			continue
		}
		_ = fs.WalkDir(os.DirFS(name), ".", func(_ string, d fs.DirEntry, err error) error { // what cannot be read is no secret yet
			if err != nil {
				return nil //nolint:nilerr // the rest counts all the same
			}
			if info, err := d.Info(); err == nil {
				out = append(out, info)
			}
			return nil
		})
	}
	return out
}

func (n nodes) has(info fs.FileInfo) bool {
	return slices.ContainsFunc(n, func(one fs.FileInfo) bool { return os.SameFile(one, info) })
}

// hold says whether the place is one of them, or lies in one.
func (n nodes) hold(p place) bool {
	if len(n) == 0 {
		return false
	}
	if p.info != nil && n.has(p.info) {
		return true
	}
	for dir := filepath.Dir(p.real()); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && n.has(info) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// open is an open file, unless it turns out to be one of them: a secret.
func (n nodes) open(f *os.File, err error) (*os.File, error) {
	if err != nil || len(n) == 0 {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && n.has(info) {
		err = ErrSecret
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
