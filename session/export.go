package session

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cartagent/cartagent/loop"
)

// Outline is what a redacted record says in place of an input, and whether the input has anything to be redacted at all.
type Outline func(loop.Input) (outline loop.Input, private bool)

// Export writes a session to w as one self-contained file: the lines of its log, where a record that is the first to name
// a blob has a field more, "blobs", with the base64 of each. What is damaged is left out, and the problems say so.
//
// With redact the body of each private record is null, its body_sha256 is there so that the chain still proves it, and
// the outline follows for who reads; no blob is written. The header stays as it is: the chain begins with it.
func (d *Dir) Export(ctx context.Context, id string, w io.Writer, redact Outline) ([]Problem, error) {
	s, done, err := d.scan(id)
	if err != nil {
		return nil, err
	}
	defer done()
	e := exporter{w: w, s: s, redact: redact, brought: map[string]bool{}}
	s.verify = true
	s.visit = func(r *record, in loop.Input) bool {
		if e.err = ctx.Err(); e.err == nil {
			e.err = e.record(r, in)
		}
		return e.err == nil
	}
	err = s.run()
	if err = errors.Join(e.err, err); err != nil {
		return s.findings(), err
	}
	if !s.headed {
		return s.findings(), fmt.Errorf("session %s cannot be exported: the header of its log is damaged", id)
	}
	return s.findings(), e.head()
}

type exporter struct {
	w       io.Writer
	s       *scanner
	redact  Outline
	begun   bool
	brought map[string]bool // blobs that are in the file
	err     error
}

// head writes the header before the first record.
func (e *exporter) head() error {
	if e.begun || !e.s.headed {
		return nil
	}
	e.begun = true
	_, err := e.w.Write(append(bytes.Clone(e.s.head), '\n'))
	return err
}

func (e *exporter) record(r *record, in loop.Input) error {
	if !e.s.headed {
		return nil // Export fails
	}
	if err := e.head(); err != nil {
		return err
	}
	line := bytes.TrimSpace(e.s.raw)
	switch {
	case r.redacted():
	case e.redact != nil:
		var outline json.RawMessage
		what, private := e.redact(in)
		if !private {
			line = nil // fields that are not known may hold anything
			break
		}
		if what != nil {
			var err error
			if _, outline, err = loop.EncodeInput(what); err != nil {
				return err
			}
		}
		out := &record{N: r.N, At: r.At, Kind: r.Kind, Body: json.RawMessage("null"), Hash: r.Hash, BodySum: sumOf(r.Body), Outline: outline}
		return e.write(out, nil)
	case bytes.Contains(r.Body, []byte(mark)):
		blobs := e.blobs(r)
		if len(blobs) > 0 || len(r.Blobs) > 0 {
			out := *r
			out.Blobs = blobs
			return e.write(&out, nil)
		}
	}
	return e.write(r, line)
}

// blobs are those that r is the first to name. What is lost is left out; the scan has said so.
func (e *exporter) blobs(r *record) map[string]string {
	out := map[string]string{}
	named(r.Body, func(sum string) {
		if e.brought[sum] {
			return
		}
		if data, err := e.s.blob(sum); err == nil {
			e.brought[sum] = true
			out[sum] = base64.StdEncoding.EncodeToString(data)
		}
	})
	return out
}

// write writes line, or else a line for r.
func (e *exporter) write(r *record, line []byte) error {
	if line == nil {
		var err error
		if line, err = r.line(); err != nil {
			return err
		}
	}
	_, err := e.w.Write(append(slices.Clip(line), '\n'))
	return err
}

// line is the record as writer.add lays it out, and what else it has.
func (r *record) line() ([]byte, error) {
	at, err := appendString(nil, r.At)
	if err != nil {
		return nil, err
	}
	kind, err := appendString(nil, r.Kind)
	if err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, `{"n":%d,"at":%s,"kind":%s,"body":%s`, r.N, at, kind, r.Body)
	if r.BodySum != "" {
		out = fmt.Appendf(out, `,"body_sha256":%s`, quoted(r.BodySum))
	}
	if r.Outline != nil {
		out = fmt.Appendf(out, `,"outline":%s`, r.Outline)
	}
	out = fmt.Appendf(out, `,"hash":"%s"`, r.Hash)
	for i, sum := range slices.Sorted(maps.Keys(r.Blobs)) {
		sep := `,"blobs":{`
		if i > 0 {
			sep = ","
		}
		out = fmt.Appendf(out, `%s"%s":"%s"`, sep, sum, r.Blobs[sum])
	}
	if len(r.Blobs) > 0 {
		out = append(out, '}')
	}
	return append(out, '}'), nil
}
