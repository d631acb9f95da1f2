package session

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// position is a place in the list of sessions: behind the session of that time and id. The zero value is the start.
type position struct {
	updated time.Time
	id      string
}

// before says whether info comes after p in the list.
func (p position) before(info Info) bool {
	if p.id == "" {
		return true
	}
	if c := info.Updated.Compare(p.updated); c != 0 {
		return c < 0
	}
	return info.ID > p.id
}

// cursorTime is how many bytes of a cursor are its time.
const cursorTime = 12

func (p position) cursor() string {
	b := make([]byte, 0, cursorTime+len(p.id))
	b = binary.BigEndian.AppendUint64(b, uint64(p.updated.Unix()))
	b = binary.BigEndian.AppendUint32(b, uint32(p.updated.Nanosecond()))
	return base64.RawURLEncoding.EncodeToString(append(b, p.id...))
}

// position reads the filter's cursor.
func (f Filter) position() (position, error) {
	if f.After == "" {
		return position{}, nil
	}
	bad := fmt.Errorf("listing the sessions after %.60q: %w; begin with the first page", f.After, ErrCursor)
	if len(f.After) > base64.RawURLEncoding.EncodedLen(cursorTime+maxID) {
		return position{}, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(f.After)
	if err != nil || len(b) < cursorTime {
		return position{}, bad
	}
	sec, nsec := int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint32(b[8:]))
	p := position{updated: time.Unix(sec, nsec).UTC(), id: string(b[cursorTime:])}
	// There is one way to write a cursor: what it would be written as must be what it was.
	if !validID(p.id) || p.cursor() != f.After {
		return position{}, bad
	}
	return p, nil
}

// inOrder compares by the order of the list.
func inOrder(a, b Info) int {
	if c := b.Updated.Compare(a.Updated); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// pageOf puts the sessions in order and cuts what is beyond the limit. It uses the memory of infos. Few of many are
// found without sorting all.
func pageOf(infos []Info, limit int) Page {
	if limit <= 0 || len(infos) <= limit {
		slices.SortFunc(infos, inOrder)
		return Page{Sessions: infos}
	}
	best := infos[:0]
	for i, info := range infos {
		if i >= limit && inOrder(info, best[limit-1]) > 0 {
			continue // best is in order up to there, or holds it all
		}
		best = append(best, info)
		if n := len(best); n == limit || n >= 2*limit {
			slices.SortFunc(best, inOrder)
			best = best[:limit]
		}
	}
	slices.SortFunc(best, inOrder)
	last := best[limit-1]
	return Page{Sessions: slices.Clone(best[:limit]), Next: position{updated: last.Updated, id: last.ID}.cursor()}
}

// maxLists bounds how often a page is built anew since the index was wrong about a session on it.
const maxLists = 4

// List is Store.List. It looks at the time of each file that fits, and reads the headers of those that the index does
// not know and of those on a limited page. A file whose header is damaged or must not be read has no Cwd.
func (d *Dir) List(ctx context.Context, f Filter) (Page, error) {
	after, err := f.position()
	if err != nil {
		return Page{}, err
	}
	for try := 1; ; try++ {
		infos, err := d.infos(ctx, f.Cwd)
		if err != nil {
			return Page{}, fmt.Errorf("listing the sessions: %w", err)
		}
		infos = slices.DeleteFunc(infos, func(info Info) bool { return !after.before(info) })
		page := pageOf(infos, f.Limit)
		if f.Limit <= 0 || try == maxLists || d.checked(page.Sessions) {
			return page, nil
		}
	}
}

// infos describes all sessions of a folder, or all there are.
func (d *Dir) infos(ctx context.Context, cwd string) ([]Info, error) {
	infos, err := d.origins(ctx, cwd)
	if err != nil {
		return nil, err
	}
	// The times of 10,000 files take some 20 ms one after the other.
	parts := slices.Collect(slices.Chunk(infos, max(minPart, len(infos)/runtime.GOMAXPROCS(0)+1)))
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { errs[i] = d.times(ctx, part) })
	}
	wg.Wait()
	infos = slices.DeleteFunc(infos, func(info Info) bool { return info.ID == "" })
	return infos, errors.Join(errs...)
}

// minPart is how many files are worth a goroutine.
const minPart = 256

// times sets when each session was written last. It empties the ID of what is no session.
func (d *Dir) times(ctx context.Context, infos []Info) error {
	for i := range infos {
		if err := ctx.Err(); err != nil {
			return err
		}
		fi, err := d.root.Lstat(infos[i].ID + logExt)
		switch {
		case err == nil && fi.Mode().IsRegular():
			infos[i].Updated = fi.ModTime().UTC()
		case err == nil, errors.Is(err, fs.ErrNotExist):
			infos[i].ID = ""
		default:
			return storage("reading the time of session "+infos[i].ID, err)
		}
	}
	return nil
}

// origins says which sessions there are, and where they come from. It brings the index up to date.
func (d *Dir) origins(ctx context.Context, cwd string) ([]Info, error) {
	x := d.index
	x.mu.Lock()
	defer x.mu.Unlock()
	// The index is read before the folder: what it has and the folder has not is gone then, not just new.
	x.refresh()
	ids, err := d.ids()
	if err != nil {
		return nil, err
	}
	var infos, found []Info
	hits := 0
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o, ok := x.known[id]
		info := Info{ID: id, Cwd: o.cwd, Created: o.created}
		if ok {
			hits++
		} else {
			whole := false
			info, whole, err = d.describe(id)
			switch {
			case errors.Is(err, ErrNotFound):
				continue // deleted meanwhile, or no file
			case errors.Is(err, ErrVersion): // it is there all the same; who opens it is told
			case err != nil:
				return nil, err
			case whole:
				found = append(found, info)
			}
		}
		if cwd == "" || cwd == info.Cwd {
			infos = append(infos, info)
		}
	}
	if hits < len(x.known) {
		x.keep(ids)
	}
	x.learn(found)
	return infos, nil
}

// ids reads the folder.
func (d *Dir) ids() ([]string, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, storage("reading their folder", err)
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, storage("reading their folder", err)
	}
	ids := names[:0]
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, logExt); ok && validID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// checked holds sessions against their own headers. It is false when the index was wrong, and then corrects it.
func (d *Dir) checked(infos []Info) bool {
	var wrong []Info
	for _, info := range infos {
		is, whole, err := d.describe(info.ID)
		if err == nil && whole && (is.Cwd != info.Cwd || !is.Created.Equal(info.Created)) {
			wrong = append(wrong, is)
		}
	}
	d.index.correct(wrong)
	return len(wrong) == 0
}

// maxHeader bounds what List reads of a file.
const maxHeader = 64 << 10

// describe reads a file's header. whole says that it is undamaged, and so will never change.
func (d *Dir) describe(id string) (info Info, whole bool, err error) {
	info = Info{ID: id}
	fi, err := d.root.Lstat(id + logExt)
	if err != nil || !fi.Mode().IsRegular() {
		return info, false, missing(id, err)
	}
	f, err := d.root.Open(id + logExt)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return info, false, nil
	case err != nil:
		return info, false, missing(id, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	line, err := bufio.NewReaderSize(io.LimitReader(f, maxHeader), 1<<10).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return info, false, storage("reading session "+id, err)
	}
	s := scanner{id: id, info: info}
	_, err = s.header(line)
	return s.info, s.headed && err == nil, err
}
