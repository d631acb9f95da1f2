package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cartagent/cartagent/loop"
)

var errReadOnly = errors.New("its file is read-only")

// dirLog is the leased log of one file.
type dirLog struct {
	dir      *Dir
	f        *os.File
	info     Info
	warnings []string
	writable bool
	note     *os.File // says whose the lease is; nil where it could not be written
	mark     []byte   // what the note says as long as the lease is this one
	read     []byte   // what it was last seen to say

	mu     sync.Mutex
	w      writer
	end    int64 // how long the file is; -1 when that is not known
	size   int64 // where the last whole record ends: the file is this long, unless it is torn
	open   bool  // the newline at size is missing
	torn   bool  // there may be something behind size, to be cut off before the next append
	dirty  bool  // something was appended and not synced
	fresh  bool  // the file's own entry in its folder was never synced
	broken error // a sync failed: what the disk holds is no longer known
	closed bool
}

// begin writes the header of a log without one.
func (l *dirLog) begin() error {
	line, err := headerLine(l.info)
	if err != nil {
		return err
	}
	if err := l.write(line); err != nil {
		return err
	}
	sum := sha256.Sum256(line[:len(line)-1])
	l.w.chain = chain{hash: hex.EncodeToString(sum[:])}
	l.fresh = true
	return nil
}

// load reads what the file holds and where it ends.
func (l *dirLog) load(ctx context.Context) error {
	s := newScanner(l.info.ID, l.f)
	s.verify = true
	s.blobs = l.blobs().load
	s.named = map[string]bool{}
	s.visit = func(*record, loop.Input) bool { return ctx.Err() == nil }
	if err := s.run(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("loading session %s: %w", l.info.ID, err)
	}
	fi, err := l.f.Stat()
	if err != nil {
		return storage("loading session "+l.info.ID, err)
	}
	l.info = s.info
	l.info.Updated = fi.ModTime().UTC()
	if l.info.Created.IsZero() {
		l.info.Created = l.info.Updated
	}
	l.warnings = s.warnings()
	l.w.chain = s.last
	l.size, l.open, l.torn = s.keep, s.open, fi.Size() > s.keep
	l.end = fi.Size()
	if l.writable && len(l.warnings) == 0 { // what is damaged may have named more
		l.blobs().sweep(s.named)
	}
	return nil
}

func (l *dirLog) blobs() blobs { return blobs{root: l.dir.root, id: l.info.ID} }

// Info is Log.Info.
func (l *dirLog) Info() Info { return l.info }

// Warnings is Log.Warnings.
func (l *dirLog) Warnings() []string { return l.warnings }

// Append is loop.Log's: all of in, in one write, or nothing. An error leaves the file as it was.
func (l *dirLog) Append(in ...loop.Input) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil || len(in) == 0 {
		return err
	}
	if !l.writable {
		return storage("appending to session "+l.info.ID, errReadOnly)
	}
	if err := l.held(); err != nil {
		if errors.Is(err, ErrLost) {
			l.broken = err
		}
		return err
	}
	if err := l.repair(); err != nil {
		return err
	}
	was := l.w.chain
	l.w.out, l.w.payloads = l.w.out[:0], nil
	if l.open {
		l.w.out = append(l.w.out, '\n')
	}
	at := l.dir.opts.now().Format(time.RFC3339Nano)
	for _, one := range in {
		if err := l.w.add(one, at); err != nil {
			l.w.chain = was
			return err
		}
	}
	err := l.blobs().save(l.w.payloads)
	l.w.payloads = nil
	if err == nil {
		err = l.write(l.w.out)
	}
	if err != nil {
		l.w.chain = was
		return err
	}
	if cap(l.w.out) > maxBuffer {
		l.w.out = nil
	}
	return nil
}

// maxBuffer is how much memory an idle log may hold on to.
const maxBuffer = 256 << 10

func (l *dirLog) usable() error {
	switch {
	case l.closed:
		return fmt.Errorf("session %s: %w", l.info.ID, ErrClosed)
	case l.broken != nil:
		return l.broken
	}
	return nil
}

// repair cuts off what is behind the last whole record.
func (l *dirLog) repair() error {
	if l.torn {
		if err := l.f.Truncate(l.size); err != nil {
			return storage("repairing the end of session "+l.info.ID, err)
		}
		l.torn, l.end = false, l.size
	}
	if l.size == 0 && l.w.n == 0 {
		return l.begin()
	}
	return nil
}

// write adds bytes at the end of the file. After an error it takes back what had been written of them.
func (l *dirLog) write(b []byte) error {
	n, err := l.f.Write(b)
	if n > 0 {
		if lost := l.landed(l.size + int64(n)); lost != nil {
			l.broken = lost // and nothing is cut off: what is at the end may be another's
			return lost
		}
	}
	if err != nil {
		err = storage("appending to session "+l.info.ID, err)
		l.torn, l.end = true, -1
		if cut := l.f.Truncate(l.size); cut == nil {
			l.torn, l.end = false, l.size
		}
		return err // a cut that did not work is tried again before the next append
	}
	l.size += int64(len(b))
	l.end = l.size
	l.open, l.dirty = false, true
	return nil
}

// Sync is loop.Log's. Once it has failed, the log is of no more use: only a new lease can tell what the disk holds.
func (l *dirLog) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil || !l.dirty {
		return err
	}
	err := syncData(l.f)
	if err == nil && l.fresh {
		err = syncNames(l.dir.root, ".")
	}
	if err != nil {
		l.broken = storage("syncing session "+l.info.ID, err)
		return l.broken
	}
	l.dirty, l.fresh = false, false
	return nil
}

// Close is Log.Close.
func (l *dirLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.release() // before the lock is given back
	return storage("closing session "+l.info.ID, errors.Join(unlock(l.f), l.f.Close()))
}
