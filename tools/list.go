package tools

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// The limits of one list.
const (
	listEntries = 1000
	listBytes   = 32 << 10
)

type listArgs struct {
	Pattern string `json:"pattern,omitempty"`
	Path    string `json:"path,omitempty"`
}

func (k *kit) listTool() loop.Tool {
	return Define(loop.Spec{
		Name: "list", Title: "List", Description: describe("list"),
		Kind: loop.KindSearch, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}, k.previewList, k.runList)
}

func (k *kit) previewList(_ context.Context, in listArgs) (loop.Preview, error) {
	if _, err := newGlob(in.Pattern, false); err != nil {
		return loop.Preview{}, err
	}
	p, err := k.folder(in.Path)
	if err != nil {
		return loop.Preview{}, err
	}
	title := "List " + k.shown(p)
	if in.Pattern != "" {
		title += " (" + in.Pattern + ")"
	}
	return loop.Preview{
		Title:     title,
		Locations: []loop.Location{{Path: p.abs()}},
		Subjects:  []loop.Subject{k.subject(p)},
	}, nil
}

// folder is the place that a list or a search begins at: the cwd where name is empty. It exists.
func (k *kit) folder(name string) (place, error) {
	if name == "" {
		name = "."
	}
	p, err := k.ws.locate(name)
	if err != nil {
		return place{}, err
	}
	if p.info == nil {
		return place{}, k.missing(name, p)
	}
	return p, nil
}

func (k *kit) runList(ctx context.Context, in listArgs, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	g, err := newGlob(in.Pattern, false)
	if err != nil {
		return loop.Result{}, err
	}
	p, err := k.folder(in.Path)
	if err != nil {
		return loop.Result{}, err
	}
	if err := sameTarget(in.Path, p, j.Preview); err != nil {
		return loop.Result{}, err
	}
	if !p.info.IsDir() {
		return loop.Result{}, fmt.Errorf("%s is a file; use read to see it", in.Path)
	}
	depth := g.depth()
	if g.pattern == "" {
		depth = 1
	}
	var out strings.Builder
	shown, all := 0, 0
	failed := unread{what: "not readable"}
	err = p.walk(ctx, depth, func(v visit) error {
		if v.err != nil {
			failed.add(v.rel + " (" + v.err.Error() + ")")
			return nil //nolint:nilerr // the result says what could not be read
		}
		if !g.match(v.rel) {
			return nil
		}
		all++
		line := entryLine(p, v)
		if shown == all-1 && shown < listEntries && out.Len()+len(line) <= listBytes {
			out.WriteString(line)
			shown++
		}
		return nil
	})
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing %s: %w", k.shown(p), err)
	}
	return loop.Result{Content: listed(out.String(), shown, all, g, failed.note())}, nil
}

func entryLine(p place, v visit) string {
	line := safeText([]byte(v.rel))
	switch {
	case v.entry.IsDir():
		line += "/"
	case v.entry.Type()&fs.ModeSymlink != 0:
		name := v.rel
		if p.rel != "." {
			name = p.rel + "/" + v.rel
		}
		if target, err := p.root.dir.Readlink(name); err == nil {
			line += " -> " + safeText([]byte(target))
		}
	}
	return line + "\n"
}

func listed(body string, shown, all int, g glob, failed string) loop.Blocks {
	var notes []string
	switch {
	case all == 0 && g.pattern != "":
		notes = append(notes, fmt.Sprintf("nothing matches %s; ** stands for any folders", g.pattern))
	case all == 0:
		notes = append(notes, "the folder is empty")
	case shown < all:
		notes = append(notes, fmt.Sprintf("%d of %d entries; narrow pattern or path to see the rest", shown, all))
	}
	if failed != "" {
		notes = append(notes, failed)
	}
	return noted(body, notes)
}

// noted is a body and, in a block of its own, what is to be said about it.
func noted(body string, notes []string) loop.Blocks {
	var out loop.Blocks
	if body != "" {
		out = append(out, loop.Text{Text: body})
	}
	if len(notes) > 0 {
		out = append(out, loop.Text{Text: "[" + strings.Join(notes, "; ") + "]"})
	}
	return out
}
