package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// Content is what is in a file. In JSON it is a string, or {"base64": …} where it is no text.
type Content []byte

type coded struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (c Content) MarshalJSON() ([]byte, error) {
	if utf8.Valid(c) {
		return encode(string(c))
	}
	return encode(coded{c})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = Content(text)
		return nil
	}
	var b coded
	if err := strict(data, &b); err != nil {
		return errors.New(`a file is a string, or {"base64": …}`)
	}
	*c = append(Content{}, b.Base64...)
	return nil
}

// Disk is what files have become, by their names in the workspace. One that is nil is gone.
type Disk map[string]*Content

// The folders of files in an archive. Those ending in .json hold what is no lines of text, as JSON.
const (
	dirBefore = "before"
	dirAfter  = "after"
	dirConfig = "config"
)

// Nameable says whether a file of that name can be in a scenario.
func Nameable(name string) bool {
	return fs.ValidPath(name) && name != "." && utf8.ValidString(name) && name == strings.TrimSpace(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' })
}

// split tells a file's folder, on paper, from its name there. A file of the workspace has the name that it has in it, one
// of an additional folder that of the folder before it, such as /workspace-2/a.txt.
func split(name string) (folder, rel string) {
	if rest, ok := strings.CutPrefix(name, Workspace+"-"); ok {
		number, rel, _ := strings.Cut(rest, "/")
		return Workspace + "-" + number, rel
	}
	return Workspace, name
}

// nameIn is the reverse of split.
func nameIn(folder, rel string) string {
	if folder == Workspace {
		return rel
	}
	return folder + "/" + rel
}

// numbered are the folders of an archive that hold files of additional folders.
var numbered = regexp.MustCompile(`^(before|after)(-[1-9][0-9]*)$`)

// fileIn reads a file of an archive into one of the lists of files. It says whether the name is that of one.
func (s *Scenario) fileIn(name string, data []byte) (bool, error) {
	dir, rest, ok := strings.Cut(name, "/")
	dir, isJSON := strings.CutSuffix(dir, ".json")
	folder := Workspace
	if m := numbered.FindStringSubmatch(dir); m != nil {
		dir, folder = m[1], Workspace+m[2]
	}
	list := map[string]map[string]string{dirBefore: s.Before, dirAfter: s.After, dirConfig: s.Config}[dir]
	if !ok || list == nil {
		return false, nil
	}
	if !Nameable(rest) {
		return true, fmt.Errorf("%q is no name for a file in a workspace", rest)
	}
	rest = nameIn(folder, rest)
	if _, twice := list[rest]; twice {
		return true, errors.New("it is there twice")
	}
	if !isJSON {
		list[rest] = string(data)
		return true, nil
	}
	var c Content
	if err := json.Unmarshal(data, &c); err != nil {
		return true, err
	}
	list[rest] = string(c)
	return true, nil
}

// fileOut is a file as an archive has it.
func fileOut(dir, name, data string) (txtar.File, error) {
	folder, name := split(name)
	dir += strings.TrimPrefix(folder, Workspace)
	if !Nameable(name) {
		return txtar.File{}, fmt.Errorf("a scenario cannot hold a file called %q", name)
	}
	if plainLines(data) {
		return txtar.File{Name: dir + "/" + name, Data: []byte(data)}, nil
	}
	raw, err := Content(data).MarshalJSON()
	return txtar.File{Name: dir + ".json/" + name, Data: append(raw, '\n')}, err
}

// plainLines says whether an archive gives a text back as it was put in.
func plainLines(data string) bool {
	if data == "" {
		return true
	}
	if !utf8.ValidString(data) || !strings.HasSuffix(data, "\n") || strings.Contains(data, "\r") {
		return false
	}
	a := txtar.Parse([]byte(data))
	return len(a.Files) == 0 && string(a.Comment) == data
}

// WriteFiles lays files into a folder.
func WriteFiles(folder string, files map[string]string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for name, data := range files {
		if err := put(root, name, []byte(data)); err != nil {
			return err
		}
	}
	return nil
}

func put(root *os.Root, name string, data []byte) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(filepath.FromSlash(name), data, 0o644)
}

// Folders are where the files of a scenario are, by the names of their folders on paper.
type Folders map[string]string

// Write lays files into the folders.
func (f Folders) Write(files map[string]string) error {
	for folder, in := range apartBy(files) {
		dir, ok := f[folder]
		if !ok {
			return fmt.Errorf("the session has no folder %s", folder)
		}
		if err := WriteFiles(dir, in); err != nil {
			return err
		}
	}
	return nil
}

// Read reads the folders' files back.
func (f Folders) Read() (map[string]string, error) {
	out := map[string]string{}
	for folder, dir := range f {
		files, err := ReadFiles(dir)
		if err != nil {
			return nil, err
		}
		for name, data := range files {
			out[nameIn(folder, name)] = data
		}
	}
	return out, nil
}

// Lay makes of the folders' files what d says.
func (f Folders) Lay(d Disk) error {
	for folder, in := range apartBy(d) {
		dir, ok := f[folder]
		if !ok {
			return fmt.Errorf("the session has no folder %s", folder)
		}
		if err := Disk(in).lay(dir); err != nil {
			return err
		}
	}
	return nil
}

// apartBy are files by their folders.
func apartBy[T any](files map[string]T) map[string]map[string]T {
	out := map[string]map[string]T{}
	for name, data := range files {
		folder, rel := split(name)
		if out[folder] == nil {
			out[folder] = map[string]T{}
		}
		out[folder][rel] = data
	}
	return out
}

// lay makes of one folder's files what d says.
func (d Disk) lay(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for name, data := range d {
		if data == nil {
			err = root.Remove(filepath.FromSlash(name))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		} else {
			err = put(root, name, *data)
		}
		if err != nil {
			return fmt.Errorf("changing %s: %w", name, err)
		}
	}
	return nil
}

// ReadFiles reads a folder's files back, without what is in .git.
func ReadFiles(folder string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	return out, err
}

// encode writes JSON as people read it, with < and > as they are.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
