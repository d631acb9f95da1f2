package skills

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxInstructions is how much of one AGENTS.md is used.
const maxInstructions = 64 << 10

// Instructions joins the AGENTS.md files that hold for a session: that of the configuration folder, then those from
// the git root that holds cwd (else from cwd) down to cwd, the nearest last. Each has a heading with its path. A file
// that is there twice, by a link or a copy, comes once; one that only names another file is no instructions. Notes say
// what was left out or cut, for people. Nothing above the git root and nothing outside of it is read.
func Instructions(configDir, cwd string) (text string, notes []string) {
	var g gatherer
	if configDir != "" {
		g.folder(configDir, ".", true)
	}
	root := GitRoot(cwd)
	for _, dir := range between(root, cwd) {
		g.folder(root, dir, false)
	}
	return g.out.String(), g.notes
}

// NestedInstructions joins, in the same way, the AGENTS.md files of the folders below cwd down to the one that holds
// the file at path (absolute, or relative to cwd). It is for when work enters a part of the project. The text is empty
// when there are none, or path does not lie below cwd. A file with the same content as one in force above is left out.
func NestedInstructions(cwd, path string) (text string, notes []string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	rel, err := filepath.Rel(cwd, filepath.Dir(path))
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", nil
	}
	var above, g gatherer
	root := GitRoot(cwd)
	for _, dir := range between(root, cwd) {
		above.folder(root, dir, false)
	}
	g.infos, g.sums = above.infos, above.sums
	for _, dir := range between(cwd, filepath.Dir(path))[1:] {
		g.folder(cwd, dir, false)
	}
	return g.out.String(), g.notes
}

// GitRoot is the nearest folder at or above cwd that has a .git, else cwd.
func GitRoot(cwd string) string {
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(cwd)
		}
	}
}

// between lists the folders from root down to dir, relative to root.
func between(root, dir string) []string {
	out := []string{"."}
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return out
	}
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		at = filepath.Join(at, part)
		out = append(out, at)
	}
	return out
}

type gatherer struct {
	out   strings.Builder
	notes []string
	infos []os.FileInfo
	sums  [][sha256.Size]byte
}

func (g *gatherer) note(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// folder takes in the AGENTS.md of a folder beneath root. Links out of root are followed only if that is free.
func (g *gatherer) folder(root, dir string, free bool) {
	for _, name := range []string{"AGENTS.md", "Agents.md", "agents.md"} {
		at := filepath.Join(root, dir, name)
		f, err := openBeneath(root, filepath.Join(dir, name), free)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			g.note("%s is not used: %v", at, plain(err))
			return
		}
		err = g.file(at, f)
		if err := errors.Join(err, f.Close()); err != nil {
			g.note("%s is not used: %v", at, plain(err))
		}
		return
	}
}

// openBeneath opens a regular file. A link whose target lies beneath root works even if it is absolute.
func openBeneath(root, rel string, free bool) (*os.File, error) {
	path := filepath.Join(root, rel)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, linkErr := os.Lstat(path); linkErr == nil {
			return nil, errors.New("it is a link to a file that does not exist")
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if free {
		return os.Open(path)
	}
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(realRoot, actual)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, fmt.Errorf("it is a link to %s, outside of %s", actual, root)
	}
	top, err := os.OpenRoot(realRoot)
	if err != nil {
		return nil, err
	}
	f, err := top.Open(inside)
	return f, errors.Join(err, top.Close())
}

// file takes in one file, unless it is there already or says nothing.
func (g *gatherer) file(at string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(g.infos, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
		return nil
	}
	g.infos = append(g.infos, info)
	data, err := io.ReadAll(io.LimitReader(f, maxInstructions+1))
	if err != nil {
		return err
	}
	cut := len(data) > maxInstructions
	if cut {
		data = data[:wholeRunes(data[:maxInstructions])]
	}
	text, err := decodeText(data)
	if err != nil {
		return err
	}
	text = strings.TrimSpace(text)
	if sum := sha256.Sum256([]byte(text)); !slices.Contains(g.sums, sum) {
		g.sums = append(g.sums, sum)
	} else {
		return nil
	}
	switch {
	case text == "":
		return nil
	case isPointer(text):
		g.note("%s is not used: it only names another file (%s)", at, text)
		return nil
	}
	if g.out.Len() > 0 {
		g.out.WriteString("\n\n")
	}
	fmt.Fprintf(&g.out, "# Instructions from %s\n\n%s", at, text)
	if cut {
		fmt.Fprintf(&g.out, "\n\n[cut after %d of %d bytes; read the file for the rest]", len(data), info.Size())
		g.note("%s has %d bytes; only the first %d are used", at, info.Size(), len(data))
	}
	return nil
}

// isPointer says whether a text is the path of another instructions file and nothing else: what a link becomes where
// links are not supported.
func isPointer(text string) bool {
	if strings.ContainsAny(text, "\n ") || len(text) > 200 {
		return false
	}
	name := text[strings.LastIndexAny(text, `/\`)+1:]
	return strings.EqualFold(name, "AGENTS.md") || strings.EqualFold(name, "CLAUDE.md")
}

// wholeRunes is how many bytes of b are left when a rune that is cut off at its end is taken away.
func wholeRunes(b []byte) int {
	for back := 1; back <= utf8.UTFMax && back <= len(b); back++ {
		if utf8.RuneStart(b[len(b)-back]) {
			if !utf8.FullRune(b[len(b)-back:]) {
				return len(b) - back
			}
			break
		}
	}
	return len(b)
}

// cutText cuts a text that is too long to show, and says so in it.
func cutText(s string) string {
	if len(s) <= maxResult {
		return s
	}
	kept := s[:wholeRunes([]byte(s[:maxResult]))]
	return fmt.Sprintf("%s\n[cut: %d of %d bytes]", kept, len(kept), len(s))
}
