package session

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// Problem is something in a log that is not as it should be.
type Problem struct {
	Line int // 1-based; zero where it is about the file as a whole
	Text string
}

// String is the problem in words, with its line.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// Report is what a check of a log has found.
type Report struct {
	Info     Info
	Records  int       // the number of the last one
	Hash     string    // of the last record, or of the header where there is none
	Redacted int       // records whose bodies were taken out
	Problems []Problem // nil: everything fits, blobs included
	// Heads are the hashes of the records that were asked for; empty for those that are not there. Record 0 is the header.
	Heads map[int]string
}

// Record is one record of a log. Input is a loop.Unknown where the body was redacted and has no outline.
type Record struct {
	N        int
	At       time.Time // zero where it cannot be read
	Kind     string
	Redacted bool
	Input    loop.Input
}

// Verify checks the log of a session from its first line to its last, and its blobs. heads are the records whose hashes
// are wanted. It needs no lease; what another process has written in part counts as torn.
func (d *Dir) Verify(ctx context.Context, id string, heads ...int) (Report, error) {
	s, done, err := d.scan(id)
	if err != nil {
		return Report{}, err
	}
	defer done()
	return s.report(ctx, heads)
}

// VerifyFile checks a file as Dir.Export writes it.
func VerifyFile(ctx context.Context, r io.Reader, heads ...int) (Report, error) {
	return newScanner("", r).report(ctx, heads)
}

func (s *scanner) report(ctx context.Context, heads []int) (Report, error) {
	var out Report
	s.verify, s.heads = true, map[int]string{}
	for _, n := range heads {
		s.heads[n] = ""
	}
	s.visit = func(r *record, _ loop.Input) bool {
		if r.redacted() {
			out.Redacted++
		}
		return ctx.Err() == nil
	}
	if err := s.run(); err != nil {
		return out, err
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	out.Info, out.Records, out.Hash = s.info, s.last.n, s.last.hash
	out.Problems, out.Heads = s.findings(), s.heads
	if _, wanted := out.Heads[0]; wanted {
		out.Heads[0] = sumOf(s.head)
	}
	return out, nil
}

// Records yields the records of a session, with what the log says of them beside their inputs. Like Inputs it leaves out
// what is damaged.
func (d *Dir) Records(ctx context.Context, id string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s, done, err := d.scan(id)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer done()
		s.records(ctx, yield)
	}
}

// RecordsOf yields the records of a file as Dir.Export writes it. Redacted ones are as their outlines say.
func RecordsOf(ctx context.Context, r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) { newScanner("", r).records(ctx, yield) }
}

func (s *scanner) records(ctx context.Context, yield func(Record, error) bool) {
	going := true
	s.outlines = true
	s.visit = func(r *record, in loop.Input) bool {
		if ctx.Err() != nil {
			return false
		}
		at, _ := time.Parse(time.RFC3339Nano, r.At) // the zero time, where it is none
		going = yield(Record{N: r.N, At: at, Kind: r.Kind, Redacted: r.redacted(), Input: in}, nil)
		return going
	}
	err := s.run()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && going {
		yield(Record{}, err)
	}
}

// scan opens a log for reading. done closes it.
func (d *Dir) scan(id string) (s *scanner, done func(), err error) {
	if err := CheckID(id); err != nil {
		return nil, nil, err
	}
	fi, err := d.root.Lstat(id + logExt)
	if err != nil || !fi.Mode().IsRegular() {
		return nil, nil, missing(id, err)
	}
	f, err := d.root.Open(id + logExt)
	if err != nil {
		return nil, nil, missing(id, err)
	}
	s = newScanner(id, f)
	s.blobs = blobs{root: d.root, id: id}.load
	return s, func() { _ = f.Close() }, nil // it was only read
}
