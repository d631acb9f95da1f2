package skills

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestC061FromTheRootDown(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	w := filepath.Join(base, "w")
	put(t, base, map[string]string{
		"AGENTS.md": "above the root", "config/AGENTS.md": "\uFEFFbe brief\r\n", "w/.git/HEAD": "", "w/AGENTS.md": "currency EUR\n",
		"w/shop/AGENTS.md": "currency GBP\n", "w/shop/api/x.go": "", "w/shop/api/AGENTS.md": "no floats\n", "w/docs/AGENTS.md": "CLAUDE.md\n",
	})
	at := func(path, text string) string {
		return "# Instructions from " + filepath.Join(base, path) + "\n\n" + text
	}
	brief, eur, gbp := at("config/AGENTS.md", "be brief"), at("w/AGENTS.md", "currency EUR"), at("w/shop/AGENTS.md", "currency GBP")

	text, notes := Instructions(filepath.Join(base, "config"), w)
	assert.Equal(t, brief+"\n\n"+eur, text)
	assert.Empty(t, notes)
	text, notes = Instructions(filepath.Join(base, "config"), filepath.Join(w, "shop"))
	assert.Equal(t, brief+"\n\n"+eur+"\n\n"+gbp, text, "the nearest is last")
	assert.Empty(t, notes)

	text, _ = NestedInstructions(w, "shop/api/x.go")
	assert.Equal(t, gbp+"\n\n"+at("w/shop/api/AGENTS.md", "no floats"), text)
	text, _ = NestedInstructions(w, filepath.Join(w, "top.go"))
	assert.Empty(t, text)
	text, _ = NestedInstructions(w, filepath.Join(base, "other/x.go"))
	assert.Empty(t, text)

	text, notes = Instructions("", filepath.Join(w, "docs"))
	assert.Equal(t, eur, text)
	assert.Equal(t, []string{filepath.Join(w, "docs/AGENTS.md") + " is not used: it only names another file (CLAUDE.md)"}, notes)
}

func TestC061WithoutGitOnlyTheCwd(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	put(t, base, map[string]string{"AGENTS.md": "above", "w/Agents.md": "here"})
	text, notes := Instructions(filepath.Join(base, "none"), filepath.Join(base, "w"))
	assert.Equal(t, "# Instructions from "+filepath.Join(base, "w/Agents.md")+"\n\nhere", text)
	assert.Empty(t, notes)
}

func TestC061OddFiles(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	w := filepath.Join(base, "w")
	put(t, base, map[string]string{
		"w/.git": "gitdir: elsewhere", "w/AGENTS.md": "rules\n", "w/copy/AGENTS.md": "rules\r\n", "w/dir/AGENTS.md/x": "", "w/blank/AGENTS.md": " \n",
		"w/big/AGENTS.md": "ab" + strings.Repeat("é", 5<<19), "w/wide/AGENTS.md": "\xff\xfea\x00", "outside/secret": "secret", "w/link/x": "",
		"w/abs/x": "", "w/shared.md": "shared rules", "w/out/x": "", "w/broken/x": "",
	})
	for link, target := range map[string]string{
		"w/link/AGENTS.md": "../AGENTS.md", "w/abs/AGENTS.md": filepath.Join(w, "shared.md"), "w/out/AGENTS.md": "../../outside/secret",
		"w/broken/AGENTS.md": "nowhere.md",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(base, link)))
	}
	rules := "# Instructions from " + filepath.Join(w, "AGENTS.md") + "\n\nrules"
	for dir, want := range map[string]struct{ text, note string }{
		"copy": {rules, ""}, "link": {rules, ""}, "blank": {rules, ""},
		"dir":    {rules, "is not used: it is no regular file"},
		"wide":   {rules, "is not used: it is UTF-16; save it as UTF-8"},
		"out":    {rules, "outside of " + w},
		"broken": {rules, "is not used: it is a link to a file that does not exist"},
		"abs":    {rules + "\n\n# Instructions from " + filepath.Join(w, "abs/AGENTS.md") + "\n\nshared rules", ""},
	} {
		text, notes := Instructions("", filepath.Join(w, dir))
		assert.Equal(t, want.text, text, dir)
		if want.note == "" {
			assert.Empty(t, notes, dir)
			continue
		}
		require.Len(t, notes, 1, dir)
		assert.Contains(t, notes[0], want.note)
		assert.Contains(t, notes[0], filepath.Join(w, dir, "AGENTS.md"))
	}
	text, notes := Instructions("", filepath.Join(w, "big"))
	assert.True(t, utf8.ValidString(text))
	assert.True(t, strings.HasSuffix(text, "éé\n\n[cut after 65536 of 5242882 bytes; read the file for the rest]"))
	assert.Equal(t, []string{filepath.Join(w, "big/AGENTS.md") + " has 5242882 bytes; only the first 65536 are used"}, notes)
}
