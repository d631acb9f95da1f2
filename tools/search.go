package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// The limits of one search.
const (
	searchBytes   = 24 << 10 // of output
	searchContext = 20       // lines around a hit
)

type searchArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path,omitempty"`
	Glob       string `json:"glob,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Context    *int   `json:"context,omitempty" jsonschema:"lines around each hit"`
}

func (k *kit) searchTool() loop.Tool {
	return Define(loop.Spec{
		Name: "search", Title: "Search", Description: describe("search"),
		Kind: loop.KindSearch, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}, k.previewSearch, k.runSearch)
}

func (k *kit) previewSearch(_ context.Context, in searchArgs) (loop.Preview, error) {
	if _, err := newFinder(in); err != nil {
		return loop.Preview{}, err
	}
	p, err := k.folder(in.Path)
	if err != nil {
		return loop.Preview{}, err
	}
	title := fmt.Sprintf("Search %q in %s", in.Pattern, k.shown(p))
	if in.Glob != "" {
		title += " (" + in.Glob + ")"
	}
	return loop.Preview{
		Title:     title,
		Locations: []loop.Location{{Path: p.abs()}},
		Subjects:  []loop.Subject{k.subject(p)},
	}, nil
}

// finder is what one search looks for.
type finder struct {
	re      *regexp.Regexp
	glob    glob
	context int
	// blocks says that a block of lines may be tried at once: a match never spans lines and a line matches alone just
	// where it does in its block.
	blocks bool
	// needle, where it is not empty, is in every line that matches.
	needle needle
}

func newFinder(in searchArgs) (finder, error) {
	if in.Pattern == "" {
		return finder{}, errors.New("the pattern is empty; to see which files there are use list")
	}
	g, err := newGlob(in.Glob, true)
	if err != nil {
		return finder{}, err
	}
	n := optional(in.Context, 0)
	if n < 0 || n > searchContext {
		return finder{}, fmt.Errorf("%w: \"context\" is %d; it goes from 0 to %d", ErrArguments, n, searchContext)
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	if _, err := syntax.Parse(in.Pattern, syntax.Perl); err != nil {
		return finder{}, badPattern(in.Pattern, err)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return finder{}, badPattern(in.Pattern, err)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return finder{}, badPattern(in.Pattern, err)
	}
	return finder{re: re, glob: g, context: n, blocks: !lineBound(tree), needle: needleOf(tree.Simplify())}, nil
}

// badPattern says what is wrong with a pattern, and where.
func badPattern(pattern string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("the pattern %q is no RE2 expression: %w", pattern, err)
	}
	where := ""
	if i := strings.Index(pattern, se.Expr); i >= 0 && se.Expr != "" {
		where = fmt.Sprintf(" at byte %d (%q)", i+1, se.Expr)
	}
	help := `escape what is meant literally with \`
	if se.Code == syntax.ErrInvalidPerlOp || strings.HasPrefix(se.Expr, "(?<") {
		help = "RE2 has no lookaround and no backreferences: search for something simpler"
	}
	return fmt.Errorf("the pattern is no RE2 expression: %s%s; %s", se.Code, where, help)
}

// lineBound says whether the pattern has to be tried line by line: it has an anchor, or can match a line's end.
func lineBound(r *syntax.Regexp) bool {
	if slices.Contains([]syntax.Op{
		syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpAnyChar,
	}, r.Op) {
		return true
	}
	if r.Op == syntax.OpCharClass {
		for i := 0; i+1 < len(r.Rune); i += 2 {
			if r.Rune[i] <= '\r' && r.Rune[i+1] >= '\n' {
				return true
			}
		}
	}
	if r.Op == syntax.OpLiteral && slices.ContainsFunc(r.Rune, func(c rune) bool { return c == '\n' || c == '\r' }) {
		return true
	}
	return slices.ContainsFunc(r.Sub, lineBound)
}

func (k *kit) runSearch(ctx context.Context, in searchArgs, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	f, err := newFinder(in)
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
	found := newFindings(k.shown, p.root.secrets())
	switch {
	case p.info.Mode().IsRegular():
		err = found.file(ctx, f, p)
	case !p.info.IsDir():
		err = fmt.Errorf("it is %s", special(p.info.Mode()))
	default:
		err = p.walk(ctx, 0, func(v visit) error {
			name := place{root: p.root, rel: filepath.Join(p.rel, filepath.FromSlash(v.rel))}
			switch {
			case v.err != nil:
				found.failed.add(k.shown(name) + " (" + v.err.Error() + ")")
				return nil //nolint:nilerr // the result says what could not be read
			case v.entry.IsDir() || !f.glob.match(v.rel):
				return nil
			case v.entry.Type()&fs.ModeSymlink != 0:
				found.links++
				return nil
			case !v.entry.Type().IsRegular():
				return nil
			}
			return found.file(ctx, f, name)
		})
	}
	if err := errors.Join(err, found.close()); err != nil {
		return loop.Result{}, fmt.Errorf("searching %s: %w", k.shown(p), err)
	}
	body, notes := found.render(searchBytes)
	return loop.Result{Content: noted(body, notes)}, nil
}
