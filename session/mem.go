package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/cartagent/cartagent/loop"
)

// Mem is a Store in memory, for tests and for sessions that need not outlive the process. What goes in is encoded as
// on disk, so what comes out shares nothing with it.
type Mem struct {
	opts Options
	mu   sync.Mutex
	all  map[string]*memLog
}

// NewMem makes an empty store.
func NewMem(o Options) *Mem { return &Mem{opts: o, all: map[string]*memLog{}} }

// memLog is a session of a Mem. mu of the store guards it.
type memLog struct {
	info Info
	recs []memRecord
	held *memLease
}

type memRecord struct {
	kind string
	body json.RawMessage
}

// memLease is one lease of a memLog.
type memLease struct {
	store *Mem
	log   *memLog
	info  Info
}

// Create is Store.Create.
func (m *Mem) Create(ctx context.Context, info Info) (Log, error) {
	if err := errors.Join(ctx.Err(), CheckID(info.ID)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[info.ID] != nil {
		return nil, fmt.Errorf("creating session %s: %w", info.ID, ErrExists)
	}
	if info.Created.IsZero() {
		info.Created = m.opts.now()
	}
	info.Created = wall(info.Created)
	info.Updated = info.Created
	l := &memLog{info: info}
	m.all[info.ID] = l
	l.held = &memLease{store: m, log: l, info: info}
	return l.held, nil
}

// Lease is Store.Lease.
func (m *Mem) Lease(ctx context.Context, id string) (Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, err := m.free(ctx, id)
	if err != nil {
		return nil, err
	}
	l.held = &memLease{store: m, log: l, info: l.info}
	return l.held, nil
}

// free finds a session that nobody holds.
func (m *Mem) free(ctx context.Context, id string) (*memLog, error) {
	if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
		return nil, err
	}
	l := m.all[id]
	switch {
	case l == nil:
		return nil, missing(id, nil)
	case l.held != nil:
		return nil, self(id)
	}
	return l, nil
}

// Inputs is Store.Inputs. It yields what was there when it began.
func (m *Mem) Inputs(ctx context.Context, id string, from int) iter.Seq2[loop.Input, error] {
	return func(yield func(loop.Input, error) bool) {
		if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
			yield(nil, err)
			return
		}
		m.mu.Lock()
		l := m.all[id]
		var recs []memRecord
		if l != nil {
			recs = slices.Clip(l.recs)
		}
		m.mu.Unlock()
		if l == nil {
			yield(nil, missing(id, nil))
			return
		}
		for _, r := range recs[min(max(from-1, 0), len(recs)):] {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			in, err := loop.DecodeInput(r.kind, r.body)
			if err != nil {
				in = loop.Unknown{Kind: r.kind, Body: slices.Clone(r.body)}
			}
			if !yield(in, nil) {
				return
			}
		}
	}
}

// List is Store.List.
func (m *Mem) List(ctx context.Context, f Filter) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, fmt.Errorf("listing the sessions: %w", err)
	}
	after, err := f.position()
	if err != nil {
		return Page{}, err
	}
	m.mu.Lock()
	var infos []Info
	for _, l := range m.all {
		if (f.Cwd == "" || f.Cwd == l.info.Cwd) && after.before(l.info) {
			infos = append(infos, l.info)
		}
	}
	m.mu.Unlock()
	return pageOf(infos, f.Limit), nil
}

// Delete is Store.Delete.
func (m *Mem) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.free(ctx, id); err != nil {
		return err
	}
	delete(m.all, id)
	return nil
}

// Append is loop.Log's: all of in, or nothing.
func (l *memLease) Append(in ...loop.Input) error {
	recs := make([]memRecord, len(in))
	for i, one := range in {
		kind, body, err := loop.EncodeInput(one)
		if _, foreign := one.(loop.Unknown); foreign && err == nil {
			body, err = oneLine(kind, body)
		}
		if err != nil {
			return err
		}
		recs[i] = memRecord{kind: kind, body: body}
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.log.held != l {
		return fmt.Errorf("session %s: %w", l.info.ID, ErrClosed)
	}
	if len(in) > 0 {
		l.log.recs = append(l.log.recs, recs...)
		l.log.info.Updated = l.store.opts.now()
	}
	return nil
}

// Sync is loop.Log's. There is no disk.
func (l *memLease) Sync() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.log.held != l {
		return fmt.Errorf("session %s: %w", l.info.ID, ErrClosed)
	}
	return nil
}

// Info is Log.Info.
func (l *memLease) Info() Info { return l.info }

// Warnings is Log.Warnings: memory is not damaged.
func (l *memLease) Warnings() []string { return nil }

// Close is Log.Close.
func (l *memLease) Close() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.log.held == l {
		l.log.held = nil
	}
	return nil
}
