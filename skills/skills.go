package skills

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed coffee-order
var shipped embed.FS

// Skill is one skill. It keeps no file open.
type Skill struct {
	Name        string // as in the front matter
	Description string // one line
	Body        string // the text behind the front matter
	// Path is where its SKILL.md is, for people: absolute for a folder on disk.
	Path string
	// Shipped says that it came with the program.
	Shipped bool

	open func() (fs.FS, io.Closer, error)
}

// Problem says what is wrong with a skill. Skipped ones are not in the Set.
type Problem struct {
	Path    string
	Cause   string
	Skipped bool
}

// String is the problem in one line.
func (p Problem) String() string {
	if p.Skipped {
		return fmt.Sprintf("the skill %s is left out: %s", p.Path, p.Cause)
	}
	return fmt.Sprintf("the skill %s: %s", p.Path, p.Cause)
}

// Source is a place that has skill folders. Make one with Shipped, Folder or Project.
type Source struct {
	label   string
	shipped bool
	open    func() (fs.FS, io.Closer, error)
	sub     func(name string) (fs.FS, io.Closer, error)
}

// Shipped is the skills that come with the program.
func Shipped() Source {
	return Source{
		label: "shipped", shipped: true,
		open: func() (fs.FS, io.Closer, error) { return shipped, noCloser{}, nil },
		sub: func(name string) (fs.FS, io.Closer, error) {
			f, err := fs.Sub(shipped, name)
			return f, noCloser{}, err
		},
	}
}

// Folder is a folder of the person's own that has skill folders, such as skills in the configuration folder. These may
// be links to anywhere. It need not exist.
func Folder(dir string) Source {
	return Source{
		label: dir,
		open:  func() (fs.FS, io.Closer, error) { return openRoot(os.OpenRoot(dir)) },
		sub: func(name string) (fs.FS, io.Closer, error) {
			return openRoot(os.OpenRoot(filepath.Join(dir, name)))
		},
	}
}

// Project is the folder .agents/skills of a project. Nothing outside of the project is read. It need not exist.
func Project(root string) Source {
	const dir = ".agents/skills"
	beneath := func(name string) (fs.FS, io.Closer, error) {
		top, err := os.OpenRoot(root)
		if err != nil {
			return nil, nil, err
		}
		f, c, err := openRoot(top.OpenRoot(filepath.FromSlash(name)))
		return f, c, errors.Join(err, top.Close())
	}
	return Source{
		label: filepath.Join(root, filepath.FromSlash(dir)),
		open:  func() (fs.FS, io.Closer, error) { return beneath(dir) },
		sub:   func(name string) (fs.FS, io.Closer, error) { return beneath(path.Join(dir, name)) },
	}
}

func openRoot(r *os.Root, err error) (fs.FS, io.Closer, error) {
	if err != nil {
		return nil, nil, err
	}
	return r.FS(), r, nil
}

type noCloser struct{}

func (noCloser) Close() error { return nil }

// Set is the skills of a session, in the order of their names. The zero value has none. It is not changed once made.
type Set struct{ skills []Skill }

// Load reads the skills of the sources. Of two with one name the one of the later source counts. What cannot be used
// is left out and named among the problems.
func Load(sources ...Source) (Set, []Problem) {
	byName := map[string]Skill{}
	var problems []Problem
	for _, src := range sources {
		inSource := map[string]string{}
		found, bad := src.load()
		problems = append(problems, bad...)
		for _, s := range found {
			if first, ok := inSource[s.Name]; ok {
				problems = append(problems, Problem{
					Path: s.Path, Skipped: true,
					Cause: fmt.Sprintf("its name %q is taken by %s", s.Name, first),
				})
				continue
			}
			inSource[s.Name] = s.Path
			byName[s.Name] = s
		}
	}
	set := Set{skills: make([]Skill, 0, len(byName))}
	for _, s := range byName {
		set.skills = append(set.skills, s)
	}
	slices.SortFunc(set.skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	return set, problems
}

func (src Source) load() ([]Skill, []Problem) {
	dir, closer, err := src.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{{Path: src.label, Cause: plain(err).Error(), Skipped: true}}
	}
	defer closer.Close() //nolint:errcheck // it was only read
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, []Problem{{Path: src.label, Cause: plain(err).Error(), Skipped: true}}
	}
	var skills []Skill
	var problems []Problem
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		at := filepath.Join(src.label, e.Name(), "SKILL.md")
		s, warning, err := src.one(e.Name())
		if errors.Is(err, errNoSkill) {
			continue
		}
		if err != nil {
			problems = append(problems, Problem{Path: at, Cause: err.Error(), Skipped: true})
			continue
		}
		if warning != "" {
			problems = append(problems, Problem{Path: at, Cause: warning})
		}
		s.Path, s.Shipped = at, src.shipped
		s.open = func() (fs.FS, io.Closer, error) { return src.sub(e.Name()) }
		skills = append(skills, s)
	}
	return skills, problems
}

// errNoSkill is a folder without SKILL.md, or a link to a file: not meant as a skill.
var errNoSkill = errors.New("no skill")

func (src Source) one(name string) (Skill, string, error) {
	dir, closer, err := src.sub(name)
	if err != nil {
		if info, statErr := os.Stat(filepath.Join(src.label, name)); statErr == nil && !info.IsDir() {
			return Skill{}, "", errNoSkill
		}
		return Skill{}, "", fmt.Errorf("opening its folder: %w", plain(err))
	}
	defer closer.Close() //nolint:errcheck // it was only read
	data, err := readFile(dir, "SKILL.md", maxSkillFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Skill{}, "", errNoSkill
	}
	if err != nil {
		return Skill{}, "", err
	}
	return parse(name, data)
}

// readFile reads a regular file of at most limit bytes.
func readFile(dir fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d KiB", name, limit>>10)
	}
	return data, nil
}

// plain takes the name of the system call and the path out of a file error.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// All lists the skills by name.
func (s Set) All() []Skill { return slices.Clone(s.skills) }

// Find gives the skill of that name.
func (s Set) Find(name string) (Skill, bool) {
	i, ok := slices.BinarySearchFunc(s.skills, name, func(k Skill, n string) int { return cmp.Compare(k.Name, n) })
	if !ok {
		return Skill{}, false
	}
	return s.skills[i], true
}

// Index is what the prompt says of the skills: a line "- name: description" for each, nothing where there are none.
func (s Set) Index() string {
	var out strings.Builder
	for _, k := range s.skills {
		fmt.Fprintf(&out, "- %s: %s\n", k.Name, k.Description)
	}
	return out.String()
}
