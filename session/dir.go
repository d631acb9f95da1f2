package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/cartagent/cartagent/loop"
)

// Dir is a Store in a folder: one file a session, see the package's description. Several processes may use one folder.
type Dir struct {
	root  *os.Root
	opts  Options
	index *index
}

const (
	logExt  = ".jsonl"
	lockExt = ".lock" // says who has the lease
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
	return &Dir{root: root, opts: o, index: newIndex(root)}, nil
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
	info.Created = wall(info.Created)
	info.Updated = info.Created
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
	d.index.created(info)
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
	if err := l.load(ctx); err != nil {
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
		s := newScanner(id, f)
		s.blobs = blobs{root: d.root, id: id}.load
		s.from = from
		s.visit = func(_ *record, in loop.Input) bool {
			if ctx.Err() != nil {
				return false
			}
			going = yield(in, nil)
			return going
		}
		err = s.run()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && going {
			yield(nil, err)
		}
	}
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
	d.index.deleted(id)
	err = storage("deleting the large payloads of session "+id, d.root.RemoveAll(id+blobsExt))
	return errors.Join(err, l.Close())
}

// missing is the error for a log that could not be opened.
func missing(id string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	return storage("opening session "+id, err)
}

// storage makes err an ErrStorage, unless it is nil.
func storage(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrStorage, err)
}

// Path is the folder of the logs.
func (d *Dir) Path() string { return d.root.Name() }
