package skills

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

func skillText(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + body
}

func TestC059Variants(t *testing.T) {
	t.Parallel()
	const plain = "---\nname: brew\ndescription: How to brew.\n---\n\n# Brew\n\n---\n\nSlowly.\n"
	want := Skill{Name: "brew", Description: "How to brew.", Body: "# Brew\n\n---\n\nSlowly.\n"}
	crlf := strings.ReplaceAll(plain, "\n", "\r\n")
	for name, text := range map[string]string{
		"plain": plain, "BOM": "\uFEFF" + plain, "CRLF": crlf, "BOM and CRLF": "\uFEFF" + crlf, "CR only": strings.ReplaceAll(plain, "\n", "\r"),
		"blank lines first":       "\n \r\n" + plain,
		"spaces behind the fence": strings.Replace(strings.Replace(plain, "---\n", "--- \n", 1), "brew.\n---\n", "brew.\n--- \t\n", 1),
		"other keys":              strings.Replace(plain, "name:", "license: MIT\nmetadata:\n  a: b\nname:", 1),
		"quoted":                  strings.Replace(plain, "How to brew.", `"How to  brew."`, 1),
		"folded":                  strings.Replace(plain, "How to brew.", ">\n  How\n  to brew.", 1),
	} {
		got, warning, err := parse("brew", []byte(text))
		require.NoError(t, err, name)
		assert.Empty(t, warning, name)
		assert.Equal(t, want, got, name)
	}
	for _, end := range []string{"---", "---\n", "---\r\n", "--- "} {
		got, _, err := parse("brew", []byte("---\nname: brew\ndescription: d\n"+end))
		require.NoError(t, err, end)
		assert.Equal(t, Skill{Name: "brew", Description: "d"}, got)
	}
	for text, cause := range map[string]string{
		"": "it is empty", "\uFEFF\r\n": "it is empty", "# Brew": "does not begin with front matter",
		"\xff\xfe-\x00-\x00-\x00": "it is UTF-16; save it as UTF-8", "-\x00-\x00-\x00": "NUL bytes", "---\nname: caf\xe9\n---\n": "not valid UTF-8",
		"---\nname: brew\ndescription: d\n": "its front matter has no end",
		"---\nname: brew\n---\n":            "has no description", "---\ndescription: d\n---\n": "has no name", "---\n---\n": "has no name",
		"---\nname: brew\nname: brow\ndescription: d\n---\n": `no YAML: unmarshal errors: line 2: mapping key "name" already defined at line 1`,
		"---\nname: brew\n\tdescription: d\n---\n":           "its front matter is no YAML: line 2: found",
		"---\nname: Brew It\ndescription: d\n---\n":          `its name "Brew It" is not allowed`,
		"---\nname: brew\ndescription: a: b\n---\n":          "mapping values are not allowed",
		"---\nx: " + strings.Repeat("y", 1<<20) + "\n---\n":  "longer than 64 KiB",
		"---\nx: " + strings.Repeat("y", 1<<20) + "\n":       "longer than 64 KiB",
		"---\n- a\n---\n": "its front matter is no YAML", "---\nname: [a]\ndescription: d\n---\n": "its front matter is no YAML",
	} {
		_, _, err := parse("brew", []byte(text))
		require.Error(t, err, "%.40q", text)
		require.ErrorContains(t, err, cause)
		assert.NotContains(t, err.Error(), "\n")
	}
	got, warning, err := parse("other", []byte(skillText("brew", strings.Repeat("ü", 1025), "")))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("ü", 1024), got.Description)
	assert.Equal(t, `its name is "brew" but its folder is "other"; its description has 1025 characters; it is cut to 1024`, warning)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	config, project := filepath.Join(base, "config"), filepath.Join(base, "project")
	put(t, base, map[string]string{
		"config/brew/SKILL.md": skillText("brew", "the person's", "mine"), "config/grind/SKILL.md": skillText("grind", "Grind.", "g"),
		"config/broken/SKILL.md": "nothing", "config/notes.txt": "no skill", "config/empty/readme": "no skill", "config/.git/SKILL.md": "x",
		"elsewhere/far/SKILL.md": skillText("far", "Far away.", "f"), "elsewhere/secret": "s",
		"project/.agents/skills/brew/SKILL.md": skillText("brew", "the project's", "theirs"),
		"project/.agents/skills/twin/SKILL.md": skillText("brew", "again", "twice"),
	})
	require.NoError(t, os.Symlink(filepath.Join(base, "elsewhere/far"), filepath.Join(config, "far")))
	require.NoError(t, os.Symlink(filepath.Join(base, "elsewhere/far"), filepath.Join(project, ".agents/skills/far")))
	require.NoError(t, os.Symlink("brew", filepath.Join(project, ".agents/skills/alias")))
	require.NoError(t, os.Symlink(filepath.Join(base, "elsewhere/secret"), filepath.Join(project, ".agents/skills/brew/secret")))

	set, problems := Load(Shipped(), Folder(config), Project(project), Folder(filepath.Join(base, "none")), Project(base))
	inProject := filepath.Join(project, ".agents/skills")
	assert.ElementsMatch(t, []Problem{
		{
			Path: filepath.Join(config, "broken/SKILL.md"), Skipped: true,
			Cause: "it does not begin with front matter: a line ---, then name and description, then a line ---",
		},
		{Path: filepath.Join(inProject, "far/SKILL.md"), Skipped: true, Cause: "opening its folder: path escapes from parent"},
		{Path: filepath.Join(inProject, "alias/SKILL.md"), Cause: `its name is "brew" but its folder is "alias"`},
		{Path: filepath.Join(inProject, "brew/SKILL.md"), Skipped: true, Cause: `its name "brew" is taken by ` + inProject + "/alias/SKILL.md"},
		{Path: filepath.Join(inProject, "twin/SKILL.md"), Cause: `its name is "brew" but its folder is "twin"`},
		{Path: filepath.Join(inProject, "twin/SKILL.md"), Skipped: true, Cause: `its name "brew" is taken by ` + inProject + "/alias/SKILL.md"},
	}, problems)
	order, ok := set.Find("coffee-order")
	require.True(t, ok)
	assert.Equal(t, "- brew: the project's\n- coffee-order: "+order.Description+"\n- far: Far away.\n- grind: Grind.\n", set.Index())
	assert.Equal(t, "the skill x is left out: y", Problem{Path: "x", Cause: "y", Skipped: true}.String())
	brew, _ := set.Find("brew")
	_, err := brew.File("secret")
	require.ErrorContains(t, err, "path escapes from parent")
	assert.Empty(t, Set{}.Index())
}

func TestShippedSkillsAreSound(t *testing.T) {
	t.Parallel()
	set, problems := Load(Shipped())
	assert.Empty(t, problems)
	require.Len(t, set.All(), 1)
	s := set.All()[0]
	assert.Equal(t, "coffee-order", s.Name)
	for _, word := range []string{"menu://today", "mcp_read", "create_order", "add_item", "get_order", "place_order", "sold out"} {
		assert.Contains(t, s.Body, word)
	}
	assert.NotRegexp(t, `(?i)latte .*\$|4\.50 `, s.Description)
}

func TestTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"brew/SKILL.md": skillText("brew", "How to brew.", "# Brew\n"), "brew/scripts/run.sh": "echo hi\n", "brew/ref.md": "\uFEFFa\r\nb",
		"brew/bin": "\x00", "brew/long.txt": strings.Repeat("é", 40_000), "secret": "s", "bare/SKILL.md": skillText("bare", "Bare.", "just this"),
	})
	set, problems := Load(Folder(dir))
	require.Empty(t, problems)
	tool := Tool(set)
	spec := tool.Spec()
	assert.True(t, json.Valid(spec.Schema))
	assert.LessOrEqual(t, len(spec.Description), 450)
	spec.Description, spec.Schema = "", nil
	assert.Equal(t, loop.Spec{Name: "skill", Title: "Skill", Kind: loop.KindRead, ReadOnly: true, Parallel: true, Default: loop.Allow}, spec)

	run := func(args string) (string, error) {
		c := loop.NewCall("", "skill", args)
		c.ID = "call_1_1"
		p, err := tool.Preview(t.Context(), c)
		if err != nil {
			return "", err
		}
		res, err := tool.Run(t.Context(), loop.Job{Call: c, Preview: p}, nil)
		return loop.TextOf(res.Content), err
	}
	for args, want := range map[string]string{
		`{"name":"brew"}`: "# Brew\n\n\n[files of this skill in " + dir + "/brew/: bin, long.txt, ref.md, scripts/run.sh]",
		`{"name":"bare"}`: "just this", `{"name":"brew","file":"scripts/run.sh"}`: "echo hi\n", `{"name":"brew","file":"./ref.md"}`: "a\nb",
		`{"name":"brew","file":"long.txt"}`: strings.Repeat("é", 32_768) + "\n[cut: 65536 of 80000 bytes]",
	} {
		got, err := run(args)
		require.NoError(t, err, args)
		assert.Equal(t, want, got, args)
	}
	for args, want := range map[string]string{
		`{}`: `"name" is missing; the skills are bare, brew`, `{"name":"x"}`: `there is no skill "x"; the skills are bare, brew`,
		`{"name":1}`: `"name" must be a string, not number`, `{"name":"brew","path":"x"}`: "the arguments are name and file", `[]`: "not an array",
		`{"name":"brew","file":"../secret"}`: "leads out of the skill's folder", `{"name":"brew","file":"/etc/passwd"}`: "leads out",
		`{"name":"brew","file":"a/../../secret"}`: "leads out", `{"name":"brew","file":"none"}`: "has no file none; it has: bin, long.txt",
		`{"name":"brew","file":"bin"}`: "NUL bytes", `{"name":"brew","file":"scripts"}`: "no regular file",
	} {
		_, err := run(args)
		require.ErrorContains(t, err, want, args)
	}
	shipped, _ := Load(Shipped())
	res, err := Tool(shipped).Run(t.Context(), loop.Job{Call: loop.NewCall("", "skill", `{"name":"coffee-order"}`)}, nil)
	require.NoError(t, err)
	assert.Contains(t, loop.TextOf(res.Content), "# Ordering at the cart")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\nname: brew\ndescription: d\n---\nbody"))
	f.Add([]byte("\uFEFF\r\n--- \r\nname: a\r\n---"))
	f.Add([]byte("---\na: &a [*a]\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := parse("brew", data)
		if err != nil {
			require.Equal(t, Skill{}, s)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Regexp(t, nameRule, s.Name)
		require.NotEmpty(t, s.Description)
		require.NotContains(t, s.Description, "\n")
	})
}
