package skills

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

//go:embed skill.md
var prose string

const (
	maxResult = 64 << 10 // bytes of a file that are shown
	maxFiles  = 100      // files of a folder that are listed
)

// Tool is the tool by which a model reads the skills of the set, and the files in their folders. It runs nothing.
func Tool(set Set) loop.Tool { return tool{set} }

type tool struct{ set Set }

type toolArgs struct {
	Name string `json:"name"`
	File string `json:"file"`
}

func (t tool) Spec() loop.Spec {
	return loop.Spec{
		Name: "skill", Title: "Skill", Description: strings.TrimSpace(prose),
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"file":{"type":"string"}},` +
			`"required":["name"],"additionalProperties":false}`),
		Kind: loop.KindRead, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}
}

// decode reads the arguments and finds the skill.
func (t tool) decode(c loop.Call) (toolArgs, Skill, error) {
	var in toolArgs
	if c.Bad != "" {
		return in, Skill{}, errors.New(c.Bad)
	}
	dec := json.NewDecoder(bytes.NewReader(c.Args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return in, Skill{}, fmt.Errorf("bad arguments: %q must be a string, not %s", wrong.Field, wrong.Value)
		}
		return in, Skill{}, fmt.Errorf("bad arguments: %w; the arguments are name and file, which is optional", err)
	}
	if in.Name == "" {
		return in, Skill{}, fmt.Errorf("bad arguments: \"name\" is missing; the skills are %s", t.names())
	}
	s, ok := t.set.Find(in.Name)
	if !ok {
		return in, Skill{}, fmt.Errorf("there is no skill %q; the skills are %s", in.Name, t.names())
	}
	if in.File != "" && !fs.ValidPath(path.Clean(in.File)) {
		return in, Skill{}, fmt.Errorf("%q leads out of the skill's folder; name a file in it", in.File)
	}
	return in, s, nil
}

func (t tool) names() string {
	if len(t.set.skills) == 0 {
		return "none"
	}
	names := make([]string, len(t.set.skills))
	for i, s := range t.set.skills {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

func (t tool) Preview(_ context.Context, c loop.Call) (loop.Preview, error) {
	in, s, err := t.decode(c)
	if err != nil {
		return loop.Preview{}, err
	}
	p := loop.Preview{Title: "Skill " + s.Name, Subjects: []loop.Subject{{Words: []string{s.Name}}}}
	if in.File != "" {
		p.Title += ": " + in.File
	}
	if !s.Shipped {
		p.Locations = []loop.Location{{Path: s.Path}}
	}
	return p, nil
}

func (t tool) Run(_ context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	in, s, err := t.decode(j.Call)
	if err != nil {
		return loop.Result{}, err
	}
	out := ""
	if in.File == "" {
		out, err = s.page()
	} else {
		out, err = s.File(in.File)
	}
	if err != nil {
		return loop.Result{}, err
	}
	return loop.Result{CallID: j.Call.ID, Content: loop.Blocks{loop.Text{Text: out}}}, nil
}

// page is the skill's text and the names of its other files.
func (s Skill) page() (string, error) {
	body := cutText(s.Body)
	files, more, err := s.Files()
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return body, nil
	}
	list := strings.Join(files, ", ")
	if more {
		list += ", …"
	}
	where := ""
	if !s.Shipped {
		where = " in " + strings.TrimSuffix(s.Path, "SKILL.md")
	}
	return body + "\n\n[files of this skill" + where + ": " + list + "]", nil
}

// Files lists the files in the skill's folder other than SKILL.md, at most 100 of them, and says if there are more.
func (s Skill) Files() (files []string, more bool, err error) {
	dir, closer, err := s.open()
	if err != nil {
		return nil, false, fmt.Errorf("opening the folder of skill %s: %w", s.Name, plain(err))
	}
	defer closer.Close() //nolint:errcheck // it was only read
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // a folder that cannot be read is left out of the list
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || name == "SKILL.md":
			return nil
		case len(files) == maxFiles:
			more = true
			return fs.SkipAll
		}
		files = append(files, name)
		return nil
	})
	return files, more, err
}

// File is the text of a file in the skill's folder, cut at 64 KiB. It reads nothing outside of the folder.
func (s Skill) File(name string) (string, error) {
	dir, closer, err := s.open()
	if err != nil {
		return "", fmt.Errorf("opening the folder of skill %s: %w", s.Name, plain(err))
	}
	defer closer.Close() //nolint:errcheck // it was only read
	name = path.Clean(name)
	data, err := readFile(dir, name, maxSkillFile)
	if err != nil {
		files, _, listErr := s.Files()
		if errors.Is(err, fs.ErrNotExist) && listErr == nil {
			return "", fmt.Errorf("skill %s has no file %s; it has: %s", s.Name, name, strings.Join(append(files, "SKILL.md"), ", "))
		}
		return "", fmt.Errorf("reading %s of skill %s: %w", name, s.Name, err)
	}
	text, err := decodeText(data)
	if err != nil {
		return "", fmt.Errorf("reading %s of skill %s: %w", name, s.Name, err)
	}
	return cutText(text), nil
}
