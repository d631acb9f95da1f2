package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// The errors that callers tell apart, with errors.Is.
var (
	// ErrNotFound means that there is no such session, or that the id is none that NewID could have made.
	ErrNotFound = errors.New("no such session")
	// ErrExists means that a session of that id is there already.
	ErrExists = errors.New("the session exists already")
	// ErrLocked means that another writer holds the session. The error is a *Locked.
	ErrLocked = errors.New("the session is in use")
	// ErrStorage means that the store cannot be read or written: no space, no permission, a broken disk.
	ErrStorage = errors.New("the session store does not work")
	// ErrLost means that another writer has taken the session over from this one. The log is of no more use.
	ErrLost = errors.New("the session was taken over")
	// ErrClosed means that the log was closed, and its lease given back.
	ErrClosed = errors.New("the session's log is closed")
	// ErrVersion means that the log has a format of a later version than this one can read.
	ErrVersion = errors.New("the session was written by a newer version")
	// ErrCursor means that Filter.After is none that List gave.
	ErrCursor = errors.New("the cursor is not valid")
)

// Store keeps the logs of sessions. Its methods may be called from any goroutine.
type Store interface {
	// Create makes a new session and leases it to the caller. info.ID must be like those of NewID; a zero Created
	// means now. An id that is taken is ErrExists.
	Create(ctx context.Context, info Info) (Log, error)
	// Lease makes the caller the only writer of a session until the log is closed or the process ends. When another
	// writer has it the error is a *Locked, at once.
	Lease(ctx context.Context, id string) (Log, error)
	// Inputs yields a session's inputs in order, without a lease, beginning with record number from (they count from
	// 1; 0 means all). What is damaged is left out; Lease says what that was. It yields at most one error, last.
	Inputs(ctx context.Context, id string, from int) iter.Seq2[loop.Input, error]
	// List gives a page of the sessions that fit, those written last first and equal times by their ids. Going on with
	// the page's Next shows no session twice; one that is written between two pages moves to the front, and so out of
	// the pages to come. A bad cursor is ErrCursor.
	List(ctx context.Context, f Filter) (Page, error)
	// Delete removes a session for good. One that another writer holds is a *Locked.
	Delete(ctx context.Context, id string) error
}

// Log is the leased log of one session.
type Log interface {
	loop.Log
	// Info describes the session as its header does. Cwd is empty when the header was lost.
	Info() Info
	// Warnings says what was found damaged when the log was leased, one sentence each; nil when nothing was.
	Warnings() []string
	// Close gives the lease back. It does not sync. Appending afterwards is ErrClosed; closing again does nothing.
	Close() error
}

// Info describes a session.
type Info struct {
	ID      string
	Cwd     string
	Created time.Time
	// Updated is the time of the last append. Stores set it in List and Lease.
	Updated time.Time
}

// Filter chooses among sessions. Its zero value chooses all.
type Filter struct {
	Cwd   string // only sessions of this folder
	Limit int    // at most so many; 0 means all
	After string // Next of the page before; empty for the first
}

// Page is a part of the list of sessions. Next is the Filter.After of the page that follows; it is empty on the last.
type Page struct {
	Sessions []Info
	Next     string
}

// Options are what stores need from outside. The zero value means the real clock.
type Options struct {
	Now func() time.Time
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return wall(time.Now())
	}
	return wall(o.Now())
}

// wall is t as it can be written down, without the reading of a monotonic clock.
func wall(t time.Time) time.Time { return t.Round(0).UTC() }

// Locked says who holds a session. PID is zero and Host empty where that is not known.
type Locked struct {
	ID   string
	PID  int
	Host string
}

// Error names the session, the process and the machine.
func (l *Locked) Error() string {
	return fmt.Sprintf("session %s is in use by %s: close it there first", l.ID, l.who())
}

func (l *Locked) who() string {
	if l.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s", l.PID, l.Host)
}

// Is makes every *Locked an ErrLocked.
func (l *Locked) Is(target error) bool { return target == ErrLocked }

// What ids look like, and a length that keeps them within what file systems take as a name.
const (
	idPrefix = "sess_"
	minID    = len(idPrefix) + 16
	maxID    = 128
)

// NewID makes an id that no other session has.
func NewID() string { return idPrefix + strings.ToLower(rand.Text()) }

// CheckID says whether id could be one that NewID made. Anything else is ErrNotFound: it names no session, and it
// must never become a part of a path.
func CheckID(id string) error {
	if !validID(id) {
		return fmt.Errorf("session id %.60q: %w (ids are sess_ and at least 16 of a-z and 0-9)", id, ErrNotFound)
	}
	return nil
}

func validID(id string) bool {
	if len(id) < minID || len(id) > maxID || id[:len(idPrefix)] != idPrefix {
		return false
	}
	for i := len(idPrefix); i < len(id); i++ {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// self describes this process as the holder of a session.
func self(id string) *Locked {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return &Locked{ID: id, PID: os.Getpid(), Host: host}
}
