package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// glob picks paths. The zero value picks all.
type glob struct {
	pattern string
	byName  bool // compare with the last part of the path only
}

// newGlob checks a pattern. Where byName is asked for, one without a slash is about names at any depth.
func newGlob(pattern string, byName bool) (glob, error) {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	switch {
	case pattern == "":
		return glob{}, nil
	case path.IsAbs(pattern) || filepath.IsAbs(pattern):
		return glob{}, fmt.Errorf("the glob %q is absolute; put the folder into path and the rest into the glob", pattern)
	case pattern == ".." || strings.HasPrefix(pattern, "../") || strings.Contains(pattern, "/../") || strings.HasSuffix(pattern, "/.."):
		return glob{}, fmt.Errorf("the glob %q goes up by ..; put the folder into path", pattern)
	case !doublestar.ValidatePattern(pattern):
		return glob{}, fmt.Errorf(`the glob %q is malformed (an open [ or {?); escape a literal one with \`, pattern)
	}
	return glob{pattern: pattern, byName: byName && !strings.Contains(pattern, "/")}, nil
}

func (g glob) match(rel string) bool {
	if g.pattern == "" {
		return true
	}
	if g.byName {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

// depth is how many parts a path that matches can have; zero means any number.
func (g glob) depth() int {
	if g.byName || g.pattern == "" || strings.Contains(g.pattern, "**") || strings.ContainsAny(g.pattern, "{[") {
		return 0
	}
	return strings.Count(g.pattern, "/") + 1
}

// visit is one entry of a folder tree: rel is its path from where the walk began, with slashes; err says why a folder
// could not be read.
type visit struct {
	rel   string
	entry fs.DirEntry
	err   error
}

// walk calls fn for everything beneath a place, in order, down to depth (zero: to the bottom). It does not follow
// links and leaves out .git. It reads through the root, so nothing outside can be reached.
func (p place) walk(ctx context.Context, depth int, fn func(visit) error) error {
	fsys := p.root.dir.FS()
	start := filepath.ToSlash(p.rel)
	return fs.WalkDir(fsys, start, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel := "."
		if name != start {
			rel = strings.TrimPrefix(strings.TrimPrefix(name, start), "/")
			if start == "." {
				rel = name
			}
			if path.Base(name) == ".git" {
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if err != nil {
			return fn(visit{rel: rel, entry: d, err: plain(err)})
		}
		if rel == "." {
			return nil
		}
		if err := fn(visit{rel: rel, entry: d}); err != nil {
			return err
		}
		if d.IsDir() && depth > 0 && strings.Count(rel, "/")+1 >= depth {
			return fs.SkipDir
		}
		return nil
	})
}

// unread collects what could not be read, for a note.
type unread struct {
	what  string
	names []string
	more  int
}

func (u *unread) add(name string) {
	if len(u.names) < 5 {
		u.names = append(u.names, name)
		return
	}
	u.more++
}

func (u *unread) note() string {
	if len(u.names) == 0 {
		return ""
	}
	s := u.what + ": " + strings.Join(u.names, ", ")
	if u.more > 0 {
		s += fmt.Sprintf(" and %d more", u.more)
	}
	return s
}
