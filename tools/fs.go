package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/loop"
)

// maxFile is how much of a file is read at most, whatever the tool.
const maxFile = 64 << 20

// ReadFile reads a regular file beneath a root, up to 64 MiB.
func (w *Workspace) ReadFile(_ context.Context, name string) ([]byte, error) {
	p, err := w.locate(name)
	if err != nil {
		return nil, err
	}
	f, err := p.open()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, plain(err))
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("reading %s: it is larger than 64 MiB", name)
	}
	return data, nil
}

// open opens the place for reading. It must be a regular file.
func (p place) open() (*os.File, error) {
	if p.info == nil {
		return nil, fs.ErrNotExist
	}
	if !p.info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s", special(p.info.Mode()))
	}
	f, err := p.root.secrets().open(p.root.dir.Open(p.rel)) // it may be another one by now
	if err != nil {
		return nil, plain(err)
	}
	return f, nil
}

// openDir opens a folder, inside its root whatever its path has become meanwhile.
func (p place) openDir() (*os.File, error) {
	f, err := p.root.dir.Open(p.rel)
	if err != nil {
		return nil, plain(err)
	}
	return f, nil
}

// special names what is no regular file.
func special(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe, not a file"
	case m&fs.ModeSocket != 0:
		return "a socket, not a file"
	case m&fs.ModeDevice != 0:
		return "a device, not a file"
	}
	return "not a regular file"
}

// WriteFile replaces a file beneath a root, or makes it and the folders it needs. It happens at once: a reader sees
// the old content or the new, and after an error the old is there. An existing file keeps its permission bits; where
// it had several names (hard links), the others keep the old content.
func (w *Workspace) WriteFile(_ context.Context, name string, data []byte) error {
	p, err := w.locate(name)
	if err != nil {
		return err
	}
	if err := p.replace(data, w.locks.temp(p.real())); err != nil {
		return fmt.Errorf("writing %s: %w", name, plain(err))
	}
	return nil
}

// tempName is how a file is named until it is whole. With the key of a call it is the same whenever that call is run, and
// no other call's: so what a crash in its middle leaves can be found, and taken away, by itself alone.
func tempName(key string) string {
	const begin = ".cartagent-"
	if key == "" {
		return begin + rand.Text()
	}
	return begin + sumOf([]byte(key))[:32]
}

// tidy takes away what a call of that key has left half done beside its file. Only who goes on with that call may do so.
func (p place) tidy(key string) {
	if key == "" {
		return
	}
	temp := filepath.Join(filepath.Dir(p.rel), tempName(key))
	if info, err := p.root.dir.Lstat(temp); err == nil && info.Mode().IsRegular() {
		_ = p.root.dir.Remove(temp) // what cannot be removed does no harm
	}
}

// replace puts data in the file's place. Until it is whole it has the name temp, in the same folder.
func (p place) replace(data []byte, temp string) (err error) {
	dir := p.root.dir
	if p.info != nil {
		if !p.info.Mode().IsRegular() {
			return fmt.Errorf("it is %s", special(p.info.Mode()))
		}
		// A rename needs no right to write the file itself, so that is asked for here.
		f, err := dir.OpenFile(p.rel, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	} else if parent := filepath.Dir(p.rel); parent != "." {
		if err := dir.MkdirAll(parent, 0o777); err != nil {
			return err
		}
	}
	temp = filepath.Join(filepath.Dir(p.rel), temp)
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(dir.Remove(temp)))
		}
	}()
	_, err = f.Write(data)
	if err == nil && p.info != nil {
		err = f.Chmod(p.info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(temp, p.rel)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// document is a file as an edit finds it.
type document struct {
	place place
	found bool
	data  []byte // nil unless found; at most maxEdit bytes
	sum   string // of the whole file; empty unless found
}

// maxEdit is the size up to which a file is edited, and shown in a diff.
const maxEdit = 8 << 20

// document reads what an edit or a write would replace.
func (k *kit) document(ctx context.Context, name string) (document, error) {
	p, err := k.ws.locate(name)
	if err != nil {
		return document{}, err
	}
	d := document{place: p}
	if p.info != nil && !p.info.Mode().IsRegular() {
		return d, fmt.Errorf("%s is %s", name, special(p.info.Mode()))
	}
	if p.info != nil && p.info.Size() > maxEdit {
		return d, fmt.Errorf("%s has %s; files above %s are not edited here: use the terminal tool",
			name, bytesText(p.info.Size()), bytesText(maxEdit))
	}
	data, err := k.fs.ReadFile(ctx, p.abs())
	if errors.Is(err, fs.ErrNotExist) || (err != nil && p.info == nil) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.found, d.data, d.sum = true, data, sumOf(data)
	return d, nil
}

// digest is what a preview remembers of the file.
func (d document) digest() loop.Digest { return loop.Digest{Path: d.place.abs(), Sum: d.sum} }

// unchanged holds the file against what the preview showed.
func (d document) unchanged(name string, p loop.Preview) error {
	if !slices.Contains(p.Digests, d.digest()) {
		return fmt.Errorf("%s changed after this call was shown, so nothing was written: read it again, then repeat the change",
			name)
	}
	return nil
}

// isBinary says whether the text tools should leave data alone.
func isBinary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 }

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hexOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// ledger remembers the files that the model has seen, by real path and digest.
type ledger struct {
	mu   sync.Mutex
	sums map[string]string
}

func newLedger() *ledger { return &ledger{sums: map[string]string{}} }

func (l *ledger) saw(p place, sum string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums[p.real()] = sum
}

// stale is an error when the model has seen another content than what is there now.
func (l *ledger) stale(name string, d document) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen, ok := l.sums[d.place.real()]; ok && seen != d.sum {
		if !d.found {
			return nil // it was removed since: there is nothing to lose
		}
		return fmt.Errorf("%s has changed since it was read: read it again before changing it", name)
	}
	return nil
}

// shown is how a place is named to the model and to rules: from the cwd where it lies beneath it, else absolute.
func (k *kit) shown(p place) string {
	if p.root == &k.ws.roots[0] {
		return filepath.ToSlash(p.rel)
	}
	return p.abs()
}

// subject is what rules judge of a path: its real place from the root; the absolute path is another reading.
func (k *kit) subject(p place) loop.Subject {
	s := loop.Subject{Words: []string{k.shown(p)}}
	for _, other := range []string{p.abs(), p.real()} {
		if words := []string{other}; other != s.Words[0] && !slices.ContainsFunc(s.Also, func(w []string) bool { return slices.Equal(w, words) }) {
			s.Also = append(s.Also, words)
		}
	}
	return s
}

// maxDepth is how many folders deep a path may go for its neighbours to be looked for.
const maxDepth = 100

// missing says that there is no such file, and which are near.
func (k *kit) missing(name string, p place) error {
	if strings.Count(p.rel, "/") > maxDepth {
		return fmt.Errorf("%s does not exist", name)
	}
	dir, base := filepath.Dir(p.rel), filepath.Base(p.rel)
	for dir != "." {
		if info, err := p.root.dir.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir, base = filepath.Dir(dir), filepath.Base(dir)
	}
	at := place{root: p.root, rel: dir}
	f, err := p.root.dir.Open(dir)
	if err != nil {
		return fmt.Errorf("%s does not exist", name)
	}
	defer f.Close() //nolint:errcheck // it was only read
	entries, err := f.Readdirnames(10_000)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s does not exist", name)
	}
	near := nearest(base, entries, 3)
	if len(near) == 0 {
		return fmt.Errorf("%s does not exist; list shows what is in %s", name, k.shown(at))
	}
	for i, n := range near {
		near[i] = k.shown(place{root: p.root, rel: filepath.Join(dir, n)})
	}
	return fmt.Errorf("%s does not exist; near it: %s", name, strings.Join(near, ", "))
}
