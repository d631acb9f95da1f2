package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/cartagent/cartagent/loop"
)

// importExt is how a file that is being imported is named behind a dot and the id.
const importExt = ".import"

// ErrDamaged means that a file cannot be imported since something in it does not fit. The error is a *Damaged.
var ErrDamaged = errors.New("the file is damaged")

// Damaged says where.
type Damaged struct{ Problem Problem }

// Error is the problem, with its line.
func (d *Damaged) Error() string { return d.Problem.String() }

// Is makes every *Damaged an ErrDamaged.
func (d *Damaged) Is(target error) bool { return target == ErrDamaged }

// ErrRedacted means that a file cannot be imported since what was said in it was taken out.
var ErrRedacted = errors.New("the session was redacted: it can be shown and verified, but there is nothing to go on with")

// Import adds a session from a file as Export writes it, under the id that it has: one that is there already is
// ErrExists. The file must be whole, its chain and its blobs included. The session is there as a whole or not at all.
func (d *Dir) Import(ctx context.Context, r io.Reader) (Info, error) {
	temp := "." + NewID() + importExt
	f, err := d.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Info{}, storage("importing a session", err)
	}
	i := importer{dir: d, out: bufio.NewWriterSize(f, readSize), blobs: map[string]bool{}}
	info, err := i.read(ctx, r)
	if err == nil {
		err = i.finish(f, temp, info)
	}
	err = errors.Join(err, f.Close())
	if gone := d.root.Remove(temp); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		i.undo()
		return Info{}, err
	}
	d.index.created(info)
	return info, nil
}

type importer struct {
	dir   *Dir
	s     *scanner
	out   *bufio.Writer
	blobs map[string]bool // those that are kept
	err   error
}

// read copies the file line by line, without its blobs, which are put where they belong.
func (i *importer) read(ctx context.Context, r io.Reader) (Info, error) {
	i.s = newScanner("", r)
	i.s.verify = true
	i.s.visit = func(r *record, _ loop.Input) bool {
		if i.err = ctx.Err(); i.err == nil {
			i.err = i.record(r)
		}
		return i.err == nil && len(i.s.problems) == 0
	}
	err := i.s.run()
	if err = errors.Join(i.err, err); err != nil {
		return Info{}, err
	}
	if i.s.last.n == 0 { // no record has begun it
		err = i.begin()
	}
	switch {
	case len(i.s.problems) > 0:
		return Info{}, &Damaged{i.s.problems[0]}
	case err != nil:
		return Info{}, err
	}
	return i.s.info, nil
}

// undo takes back the blobs of a session that did not come to be.
func (i *importer) undo() {
	if len(i.blobs) == 0 {
		return
	}
	id := i.s.info.ID
	if _, err := i.dir.root.Lstat(id + logExt); errors.Is(err, fs.ErrNotExist) {
		_ = i.dir.root.RemoveAll(id + blobsExt) // else Sweep does it
	}
}

// begin writes the header, once it is known that it can be.
func (i *importer) begin() error {
	if len(i.s.problems) > 0 {
		return nil // read returns the first
	}
	if err := CheckID(i.s.info.ID); err != nil {
		return &Damaged{Problem{Line: 1, Text: "there is no session's header"}}
	}
	if _, err := i.dir.root.Lstat(i.s.info.ID + logExt); err == nil {
		return fmt.Errorf("session %s: %w", i.s.info.ID, ErrExists)
	}
	_, err := i.out.Write(append(bytes.Clone(i.s.head), '\n'))
	return storage("importing session "+i.s.info.ID, err)
}

func (i *importer) record(r *record) error {
	if r.N == 1 {
		if err := i.begin(); err != nil {
			return err
		}
	}
	if len(i.s.problems) > 0 {
		return nil
	}
	if r.redacted() {
		return ErrRedacted
	}
	line := bytes.TrimSpace(i.s.raw)
	if len(r.Blobs) > 0 {
		bare := *r
		bare.Blobs = nil
		var err error
		if line, err = bare.line(); err != nil {
			return err
		}
	}
	var payloads []payload
	named(r.Body, func(sum string) {
		if data, ok := i.s.inline[sum]; ok && !i.blobs[sum] {
			i.blobs[sum] = true
			payloads = append(payloads, payload{sum: sum, data: data})
		}
	})
	if err := (blobs{root: i.dir.root, id: i.s.info.ID}).save(payloads); err != nil {
		return err
	}
	_, err := i.out.Write(append(slices.Clip(line), '\n'))
	return storage("importing session "+i.s.info.ID, err)
}

// finish gives the file its name.
func (i *importer) finish(f *os.File, temp string, info Info) error {
	doing := "importing session " + info.ID
	if err := errors.Join(i.out.Flush(), f.Sync()); err != nil {
		return storage(doing, err)
	}
	name := info.ID + logExt
	err := i.dir.root.Link(temp, name)
	if err != nil {
		if _, taken := i.dir.root.Lstat(name); taken == nil {
			return fmt.Errorf("session %s: %w", info.ID, ErrExists)
		}
		err = i.dir.root.Rename(temp, name) // where files cannot have two names
	}
	if err == nil {
		err = syncNames(i.dir.root, ".")
	}
	return storage(doing, err)
}
