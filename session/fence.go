package session

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
)

// A lease is a lock on the log, which ends with its process, and a note beside it, ID.lock: the holder's process, its
// machine and the lease's token, which is new for each lease. The lock keeps others out. The note is for where it does
// not, as on a network's file system whose locks do not reach other machines, or lose them: who takes a session over
// replaces the token, and from then on an append of the old holder fails, as its token is not in the note any more. As
// long as the note is in doubt, the length of the log decides: who finds it other than he left it has lost it.

// maxNote bounds what is read of a note.
const maxNote = 512

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
	// Without a note others are refused as well, they only cannot be told by whom.
	me := self(id)
	l.mark = fmt.Appendf(nil, "%d %s %s\n", me.PID, me.Host, rand.Text())
	l.read = make([]byte, len(l.mark)+1)
	l.note, err = d.root.OpenFile(id+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	_, err = l.note.WriteAt(l.mark, 0)
	if err = errors.Join(err, l.note.Truncate(int64(len(l.mark)))); err != nil {
		_ = l.note.Close() // a note that cannot be written is none
		l.note = nil
	}
	return nil
}

// holder reads who has the lease.
func (d *Dir) holder(id string) *Locked {
	f, err := d.root.Open(id + lockExt)
	if err != nil {
		return &Locked{ID: id}
	}
	l := readNote(id, f)
	_ = f.Close() // it was only read
	return l
}

// readNote says who has a session.
func readNote(id string, note io.ReaderAt) *Locked {
	var buf [maxNote]byte
	n, _ := note.ReadAt(buf[:], 0) // what cannot be read is not known
	out := &Locked{ID: id}
	if _, err := fmt.Sscanf(string(buf[:n]), "%d %s", &out.PID, &out.Host); err != nil {
		return &Locked{ID: id}
	}
	return out
}

// noted says whether the note still is that of this lease.
func (l *dirLog) noted() bool {
	n, _ := l.note.ReadAt(l.read, 0) // what cannot be read is not ours
	return bytes.Equal(l.read[:n], l.mark)
}

// held says whether the lease still holds: ErrLost where another writer has taken the session over.
func (l *dirLog) held() error {
	fi, err := l.f.Stat()
	if err != nil {
		return storage("appending to session "+l.info.ID, err)
	}
	if unlinked(fi) {
		return fmt.Errorf("session %s: %w: it was deleted by another process", l.info.ID, ErrLost)
	}
	if l.note != nil && !l.noted() {
		return fmt.Errorf("session %s: %w by %s: load it again when it is not in use there",
			l.info.ID, ErrLost, readNote(l.info.ID, l.note).who())
	}
	if l.end >= 0 && fi.Size() != l.end {
		return fmt.Errorf("session %s: %w: somebody else has written to its file; load it again", l.info.ID, ErrLost)
	}
	return nil
}

// landed says whether what was just written ends there, and so begins where the log ended: ErrLost where another writer
// came first. Each append goes to the end of the file as it is at that moment, so of two that meet one is first for both.
// Who came second has told nobody yet; readers leave its record out, unless what came before is left out as well: then it
// is as if the process had ended right behind the write.
func (l *dirLog) landed(end int64) error {
	at, err := writtenTo(l.f)
	if err != nil {
		return storage("appending to session "+l.info.ID, err)
	}
	if at >= 0 && at != end {
		return fmt.Errorf("session %s: %w: somebody else has written to its file at the same time; load it again", l.info.ID, ErrLost)
	}
	return nil
}

// release takes the note away, unless it is another's by now.
func (l *dirLog) release() {
	if l.note == nil {
		return
	}
	mine := l.noted()
	if mine {
		_ = l.note.Truncate(0)
	}
	_ = l.note.Close()
	if mine {
		_ = l.dir.root.Remove(l.info.ID + lockExt)
	}
}
