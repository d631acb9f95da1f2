package tools

import (
	"context"
	"fmt"

	"github.com/cartagent/cartagent/loop"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (k *kit) writeTool() loop.Tool {
	return DefineChecked(loop.Spec{
		Name: "write", Title: "Write", Description: describe("write"), Kind: loop.KindEdit,
	}, k.previewWrite, k.runWrite, k.checkWrite)
}

func (k *kit) previewWrite(ctx context.Context, in writeArgs) (loop.Preview, error) {
	if len(in.Content) > maxEdit {
		return loop.Preview{}, fmt.Errorf("the content has %s; at most %s are written at once",
			bytesText(int64(len(in.Content))), bytesText(maxEdit))
	}
	d, err := k.document(ctx, in.Path)
	if err != nil {
		return loop.Preview{}, err
	}
	if err := k.seen.stale(in.Path, d); err != nil {
		return loop.Preview{}, err
	}
	p := k.changePreview("Write", d, in.Content)
	if isBinary(d.data) {
		p.Display = text(fmt.Sprintf("replaces a binary file of %s", bytesText(int64(len(d.data)))))
	}
	return p, nil
}

// changePreview shows a file before and after.
func (k *kit) changePreview(verb string, d document, after string) loop.Preview {
	diff := loop.Diff{Path: d.place.abs(), New: after}
	if d.found {
		before := string(d.data)
		diff.Old = &before
	}
	return loop.Preview{
		Title:     verb + " " + k.shown(d.place),
		Locations: []loop.Location{{Path: d.place.abs()}},
		Subjects:  []loop.Subject{k.subject(d.place)},
		Display:   loop.Blocks{diff},
		Digests:   []loop.Digest{d.digest()},
		Caution:   d.place.caution(),
	}
}

func (k *kit) runWrite(ctx context.Context, in writeArgs, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	return k.change(ctx, in.Path, j, func(d document) (string, string, error) {
		lines := count(lineCount(in.Content), "line")
		if d.found {
			return in.Content, fmt.Sprintf("Replaced %s (%s).", k.shown(d.place), lines), nil
		}
		return in.Content, fmt.Sprintf("Created %s (%s).", k.shown(d.place), lines), nil
	})
}

func (k *kit) checkWrite(ctx context.Context, in writeArgs, j loop.Job) (loop.Finding, loop.Result, error) {
	return k.landed(ctx, in.Path, j, in.Content)
}

// change is what write and edit have in common: under the file's lock it reads the file, refuses if that is not what
// was shown, and writes what next makes of it. Next also says what the model is told.
func (k *kit) change(
	ctx context.Context, name string, j loop.Job, next func(document) (after, said string, err error),
) (loop.Result, error) {
	shown := j.Preview
	p, err := k.ws.locate(name)
	if err != nil {
		return loop.Result{}, err
	}
	defer k.ws.locks.lockFor(p.real(), j.Key)()
	d, err := k.document(ctx, name)
	if err != nil {
		return loop.Result{}, err
	}
	if d.place.real() != p.real() {
		return loop.Result{}, fmt.Errorf("%s led elsewhere a moment ago, so nothing was written: try again", name)
	}
	if err := sameTarget(name, d.place, shown); err != nil {
		return loop.Result{}, err
	}
	if err := d.unchanged(name, shown); err != nil {
		return loop.Result{}, err
	}
	after, said, err := next(d)
	if err != nil {
		return loop.Result{}, err
	}
	if err := k.fs.WriteFile(ctx, d.place.abs(), []byte(after)); err != nil {
		return loop.Result{}, err
	}
	k.seen.saw(d.place, sumOf([]byte(after)))
	return loop.Result{Content: text(said), Display: shown.Display}, nil
}

// lineCount counts a last line without its newline too.
func lineCount(s string) int {
	n := 0
	for range lines(s) {
		n++
	}
	return n
}
