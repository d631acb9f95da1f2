package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// Dir is a Store in a folder: one file a session, see the package's description. Several processes may use one folder.
type Dir struct {
	root *os.Root
	opts Options
}

const (
	logExt  = ".jsonl"
	lockExt = ".lock" // says who has the lease; the lease itself is a lock on the log
)

// OpenDir opens the store in dir/sessions and makes the folders where they are missing. An error is an ErrStorage.
func OpenDir(dir string, o Options) (*Dir, error) {
	path := filepath.Join(dir, "sessions")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, storage("making the folder of the sessions", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, storage("opening the folder of the sessions", err)
	}
	if fi, err := root.Stat("."); err == nil && fi.Mode().Perm()&0o077 != 0 {
		// A folder that cannot be closed to others still holds files that are.
		_ = root.Chmod(".", 0o700)
	}
	return &Dir{root: root, opts: o}, nil
}

// Close frees the folder. Logs that are leased go on working.
func (d *Dir) Close() error { return d.root.Close() }

// Create is Store.Create. The file is there, with its header, when it returns.
func (d *Dir) Create(ctx context.Context, info Info) (Log, error) {
	if err := errors.Join(ctx.Err(), CheckID(info.ID)); err != nil {
		return nil, err
	}
	if info.Created.IsZero() {
		info.Created = d.opts.now()
	}
	info.Created, info.Updated = info.Created.UTC(), info.Created.UTC()
	f, err := d.root.OpenFile(info.ID+logExt, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("creating session %s: %w", info.ID, ErrExists)
	case err != nil:
		return nil, storage("creating session "+info.ID, err)
	}
	l := &dirLog{dir: d, f: f, info: info, writable: true}
	if err := d.lock(l); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, d.root.Remove(info.ID+logExt), l.Close())
	}
	return l, nil
}

// Lease is Store.Lease. A log that cannot be written is leased all the same; its Append is then an ErrStorage.
func (d *Dir) Lease(ctx context.Context, id string) (Log, error) {
	if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
		return nil, err
	}
	l, err := d.open(id)
	if err != nil {
		return nil, err
	}
	if err := d.lock(l); err != nil {
		return nil, errors.Join(err, l.f.Close())
	}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// open opens a log for writing, or else for reading.
func (d *Dir) open(id string) (*dirLog, error) {
	name := id + logExt
	fi, err := d.root.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return nil, missing(id, err)
	}
	l := &dirLog{dir: d, info: Info{ID: id}}
	if fi.Mode().Perm()&0o200 != 0 { // also root honours a file that was made read-only
		if l.f, err = d.root.OpenFile(name, os.O_RDWR|os.O_APPEND, 0); err == nil {
			l.writable = true
			return l, nil
		}
	}
	if l.f, err = d.root.Open(name); err != nil {
		return nil, missing(id, err)
	}
	return l, nil
}

// lock makes l the only writer of its file, and says so to others. It fails at once where there is another.
func (d *Dir) lock(l *dirLog) error {
	id := l.info.ID
	got, err := tryLock(l.f)
	if err != nil {
		return storage("locking session "+id, err)
	}
	if !got {
		return d.holder(id)
	}
	// Between opening and locking, the session may have been deleted.
	mine, err := l.f.Stat()
	if err != nil {
		return storage("locking session "+id, err)
	}
	if now, err := d.root.Lstat(id + logExt); err != nil || !os.SameFile(mine, now) {
		return missing(id, err)
	}
	me := self(id)
	// Without this note others are refused as well, they only cannot be told by whom.
	_ = d.root.WriteFile(id+lockExt, fmt.Appendf(nil, "%d %s\n", me.PID, me.Host), 0o600)
	return nil
}

// holder reads who has the lease.
func (d *Dir) holder(id string) *Locked {
	out := &Locked{ID: id}
	note, err := d.root.ReadFile(id + lockExt)
	if err != nil {
		return out
	}
	if _, err := fmt.Sscanf(string(note), "%d %s\n", &out.PID, &out.Host); err != nil {
		return &Locked{ID: id}
	}
	return out
}

// Inputs is Store.Inputs. A record that is being written meanwhile is there or not, never in part.
func (d *Dir) Inputs(ctx context.Context, id string, from int) iter.Seq2[loop.Input, error] {
	return func(yield func(loop.Input, error) bool) {
		if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
			yield(nil, err)
			return
		}
		f, err := d.root.Open(id + logExt)
		if err != nil {
			yield(nil, missing(id, err))
			return
		}
		defer f.Close() //nolint:errcheck // it was only read
		going := true
		s := newScanner(id, f, func(r *record, in loop.Input) bool {
			if ctx.Err() != nil {
				return false
			}
			going = r.N < from || yield(in, nil)
			return going
		})
		err = s.run()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && going {
			yield(nil, err)
		}
	}
}

// List is Store.List. It reads each file's header only; a file whose header is damaged has no Cwd.
func (d *Dir) List(ctx context.Context, f Filter) ([]Info, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, storage("listing the sessions", err)
	}
	defer dir.Close() //nolint:errcheck // it was only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, storage("listing the sessions", err)
	}
	var infos []Info
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("listing the sessions: %w", err)
		}
		id, ok := strings.CutSuffix(name, logExt)
		if !ok || CheckID(id) != nil {
			continue
		}
		info, err := d.describe(id)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrVersion) {
			continue // deleted meanwhile, no file, or not ours to read
		}
		if err != nil {
			return nil, storage("listing the sessions", err)
		}
		if f.Cwd == "" || f.Cwd == info.Cwd {
			infos = append(infos, info)
		}
	}
	return sortInfos(infos, f.Limit), nil
}

// maxHeader bounds what List reads of a file.
const maxHeader = 64 << 10

func (d *Dir) describe(id string) (Info, error) {
	fi, err := d.root.Lstat(id + logExt)
	if err != nil || !fi.Mode().IsRegular() {
		return Info{}, errors.Join(err, ErrNotFound)
	}
	f, err := d.root.Open(id + logExt)
	if err != nil {
		return Info{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	line, err := bufio.NewReader(io.LimitReader(f, maxHeader)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Info{}, err
	}
	s := scanner{id: id, info: Info{ID: id}}
	if _, err := s.header(line); err != nil {
		return Info{}, err
	}
	s.info.Updated = fi.ModTime().UTC()
	return s.info, nil
}

// Delete is Store.Delete.
func (d *Dir) Delete(ctx context.Context, id string) error {
	if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
		return err
	}
	l, err := d.open(id)
	if err != nil {
		return err
	}
	if err := d.lock(l); err != nil {
		return errors.Join(err, l.f.Close())
	}
	if err := d.root.Remove(id + logExt); err != nil {
		return errors.Join(storage("deleting session "+id, err), l.Close())
	}
	return l.Close()
}

// missing is the error for a log that could not be opened.
func missing(id string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	return storage("opening session "+id, err)
}

// storage makes err an ErrStorage.
func storage(doing string, err error) error {
	return fmt.Errorf("%s: %w: %w", doing, ErrStorage, err)
}
