package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func TestC051LineEndings(t *testing.T) {
	t.Parallel()
	const mixed = "apple\r\nbread\r\ncheese\nend"
	for _, c := range []struct {
		name, src, old, new string
		all                 bool
		want                string
	}{
		{"inserted line", mixed, "apple\nbread", "apple\noats\nbread", false, "apple\r\noats\r\nbread\r\ncheese\nend"},
		{"the same for all", mixed, "apple\nbread", "apple\noats\nbread", true, "apple\r\noats\r\nbread\r\ncheese\nend"},
		{"old with CRLF", mixed, "apple\r\nbread", "apple\r\noats\r\nbread", false, "apple\r\noats\r\nbread\r\ncheese\nend"},
		{"LF place", mixed, "cheese\nend", "cheese\nwine\nend", false, "apple\r\nbread\r\ncheese\nwine\nend"},
		{"CRLF in new, LF place", mixed, "cheese\r\nend", "cheese\r\nwine\r\nend", false, "apple\r\nbread\r\ncheese\nwine\nend"},
		{"across both endings", mixed, "bread\ncheese\nend", "rolls\nbrie\nfin", false, "apple\r\nrolls\r\nbrie\nfin"},
		{"last line grows", mixed, "end", "end\nmore", false, "apple\r\nbread\r\ncheese\nend\nmore"},
		{"line taken out", mixed, "bread\n", "", false, "apple\r\ncheese\nend"},
		{"begins with an ending", mixed, "\nbread", "\nrolls", false, "apple\r\nrolls\r\ncheese\nend"},
		{"many in CRLF", "a\r\nb\r\na\r\n", "a\n", "x\ny\n", true, "x\r\ny\r\nb\r\nx\r\ny\r\n"},
		{"no ending in the file", "one", "one", "one\ntwo", false, "one\ntwo"},
		{"a lone CR is text", "a\rb\n", "a\rb", "a\rc", false, "a\rc\n"},
		{"runes stay whole", "é\n", "é", "è", false, "è\n"},
		{"BOM stays", "\uFEFFa\r\nb", "a\nb", "a\nc", false, "\uFEFFa\r\nc"},
	} {
		got, err := Apply(c.src, []Edit{{Old: c.old, New: c.new, All: c.all}})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
}

func TestEditErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	src := "func a() {\n\treturn 1\n}\n\nfunc b() {\r\n\treturn 1\n}\n"
	for _, c := range []struct {
		name  string
		edits []Edit
		want  string
	}{
		{"none", nil, "there are no edits"},
		{"empty old", []Edit{{New: "x"}}, "old is empty, which fits a new or empty file only"},
		{"absent", []Edit{{Old: "zebra crossing", New: "x"}}, "old is not in the file: read the file and copy the text from it"},
		{"twice", []Edit{{Old: "return 1", New: "x"}}, "2 times, at lines 2, 6: add lines around it so that it is unique, or set all"},
		{"twice once endings are equal", []Edit{{Old: "() {\n\treturn", New: "x"}}, "2 times, at lines 1, 5"},
		{"overlapping", []Edit{{Old: "\n}\n", New: "x"}, {Old: "aa", New: "b"}}, "edit 1 of 2: "},
		{
			"spaces",
			[]Edit{{Old: "func b() {\n    return 1\n}", New: "x"}},
			"the same text with other spaces is at line 5:\nfunc b() {\n\treturn 1\n}\nCopy it exactly",
		},
		{"nearly", []Edit{{Old: "func bb() {\n\treturn 2\n}", New: "x"}}, "the nearest text is at line 5:\nfunc b() {"},
		{"made already", []Edit{{Old: "func c() {", New: "func a() {"}}, "but new is, at line 1: the change may have been made already"},
		{"same", []Edit{{Old: "func a", New: "func a"}}, "old and new are the same"},
		{"back and forth", []Edit{{Old: "func a", New: "func z"}, {Old: "func z", New: "func a"}}, "the edits change nothing"},
	} {
		got, err := Apply(src, c.edits)
		require.Error(t, err, c.name)
		assert.Empty(t, got)
		require.ErrorContains(t, err, c.want, c.name)
	}
	_, err := Apply("aaa", []Edit{{Old: "aa", New: "b"}})
	require.ErrorIs(t, err, ErrNoMatch, "two overlapping places are ambiguous")
}

func TestC052TextIsNoTemplate(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`$1`, `${1}`, `$0$$`, `$&`, `$'`, `$name`, `\1`, `\n`, `%d%s`, `{{.X}}`, repeat("m", 1<<20)} {
		b := setUp(t, map[string]string{"f": "x=PRICE;"})
		tool, c := b.tool("edit"), callOf(t, "edit", m{"path": "f", "edits": []Edit{{Old: "PRICE", New: s}}})
		p, err := tool.Preview(t.Context(), c)
		require.NoError(t, err)
		_, err = tool.Run(t.Context(), loop.Job{Call: c, Preview: p}, nil)
		require.NoError(t, err)
		require.Equal(t, "x="+s+";", b.read(t, "f"))
		old := "x=PRICE;"
		require.Equal(t, loop.Blocks{loop.Diff{Path: filepath.Join(b.dir, "f"), Old: &old, New: "x=" + s + ";"}}, p.Display)
	}
	const odd = `a.b(c)[d]*?^|\`
	got, err := Apply("1 "+odd+" 2 aXb", []Edit{{Old: odd, New: "ok"}})
	require.NoError(t, err)
	assert.Equal(t, "1 ok 2 aXb", got)
}

// Eight edits one after another, by several names of the file, leave all eight.
func TestC054AllEditsSurvive(t *testing.T) {
	t.Parallel()
	var src, want strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintln(&src, i)
		if i%10 == 0 && i <= 80 {
			fmt.Fprintf(&want, "word%d\n", i)
		} else {
			fmt.Fprintln(&want, i)
		}
	}
	b := setUp(t, map[string]string{"sub/nums.txt": src.String()})
	require.NoError(t, os.Symlink("sub", filepath.Join(b.dir, "link")))
	names := []string{"sub/nums.txt", "./sub/nums.txt", filepath.Join(b.dir, "sub/nums.txt"), "link/nums.txt"}
	for i := 1; i <= 8; i++ {
		b.do(t, "edit", m{"path": names[i%4], "edits": []Edit{{Old: fmt.Sprintf("\n%d\n", i*10), New: fmt.Sprintf("\nword%d\n", i*10)}}})
	}
	assert.Equal(t, want.String(), b.read(t, "sub/nums.txt"))
}

// Two sessions' edits that were shown at the same time: one is made, the other says so and changes nothing.
func TestC054AStaleEditIsRefused(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"f": "one two\n"})
	other := open(t, Options{}, b.dir)
	first := callOf(t, "edit", m{"path": "f", "edits": []Edit{{Old: "one", New: "1"}}})
	second := callOf(t, "edit", m{"path": "f", "edits": []Edit{{Old: "two", New: "2"}}})
	p1, err := b.tool("edit").Preview(t.Context(), first)
	require.NoError(t, err)
	p2, err := other.tool("edit").Preview(t.Context(), second)
	require.NoError(t, err)
	_, err = b.tool("edit").Run(t.Context(), loop.Job{Call: first, Preview: p1}, nil)
	require.NoError(t, err)
	_, err = other.tool("edit").Run(t.Context(), loop.Job{Call: second, Preview: p2}, nil)
	require.ErrorContains(t, err, "changed after this call was shown, so nothing was written: read it again")
	assert.Equal(t, "1 two\n", b.read(t, "f"))
}

func TestAFileThatChangedSinceItWasReadIsRefused(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"f": "one\n", "unread": "x\n"})
	b.do(t, "read", m{"path": "f"})
	put(t, b.dir, map[string]string{"f": "one and more\n"})
	for tool, args := range map[string]m{
		"edit": {"path": "f", "edits": []Edit{{Old: "one", New: "1"}}}, "write": {"path": "f", "content": "new"},
	} {
		_, err := b.try(t, tool, args)
		require.ErrorContains(t, err, "f has changed since it was read: read it again", tool)
	}
	b.do(t, "read", m{"path": "f"})
	b.do(t, "edit", m{"path": "f", "edits": []Edit{{Old: "one", New: "1"}}})
	b.do(t, "edit", m{"path": "f", "edits": []Edit{{Old: "1", New: "2"}}})
	b.do(t, "edit", m{"path": "unread", "edits": []Edit{{Old: "x", New: "y"}}})
	assert.Equal(t, "2 and more\n", b.read(t, "f"))
}

func TestWrite(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"old.txt": "before\n"})
	assert.Equal(t, []string{"Created new/dir/a.txt (2 lines)."}, b.do(t, "write", m{"path": "new/dir/a.txt", "content": "x\r\ny"}))
	assert.Equal(t, "x\r\ny", b.read(t, "new/dir/a.txt"))
	assert.Equal(t, []string{"Replaced old.txt (1 line)."}, b.do(t, "write", m{"path": "old.txt", "content": "after\n"}))

	c := callOf(t, "write", m{"path": "third.txt", "content": "mine"})
	p, err := b.tool("write").Preview(t.Context(), c)
	require.NoError(t, err)
	third := filepath.Join(b.dir, "third.txt")
	assert.Equal(t, loop.Preview{
		Title: "Write third.txt", Locations: []loop.Location{{Path: third}}, Digests: []loop.Digest{{Path: third}},
		Subjects: []loop.Subject{{Words: []string{"third.txt"}, Also: [][]string{{third}}}},
		Display:  loop.Blocks{loop.Diff{Path: third, New: "mine"}},
	}, p)
	put(t, b.dir, map[string]string{"third.txt": "theirs"})
	_, err = b.tool("write").Run(t.Context(), loop.Job{Call: c, Preview: p}, nil)
	require.ErrorContains(t, err, "nothing was written")
	assert.Equal(t, "theirs", b.read(t, "third.txt"))

	_, err = b.try(t, "write", m{"path": "new", "content": ""})
	require.ErrorContains(t, err, "new is a folder")
	_, err = b.try(t, "edit", m{"path": "thrid.txt", "edits": []Edit{{Old: "a", New: "b"}}})
	require.ErrorContains(t, err, "near it: third.txt")
	b.do(t, "edit", m{"path": "made.txt", "edits": []Edit{{New: "by edit\n"}}})
	assert.Equal(t, "by edit\n", b.read(t, "made.txt"))
	put(t, b.dir, map[string]string{"bin": "a\x00b"})
	_, err = b.try(t, "edit", m{"path": "bin", "edits": []Edit{{Old: "a", New: "b"}}})
	require.ErrorContains(t, err, "binary file")
}

func FuzzApply(f *testing.F) {
	f.Add("apple\r\nbread\r\ncheese\nend", "apple\nbread", "apple\noats\nbread", false)
	f.Add("a\r\n\r\na", "\n", "\r\n\n", true)
	f.Add("é\xff\r\n", "\xff", "è", true)
	f.Add("", "", "x\n", false)
	f.Add("aaa", "aa", "a", true)
	f.Fuzz(func(t *testing.T, src, old, next string, all bool) {
		got, err := Apply(src, []Edit{{Old: old, New: next, All: all}})
		if err != nil {
			require.Empty(t, got)
			require.NotContains(t, err.Error(), "%!")
			return
		}
		if old == "" {
			require.Equal(t, next, got)
			return
		}
		// Apart from line endings it is what a plain replacement would give.
		n := 1
		if all {
			n = -1
		}
		plain := func(s string) string { return strings.ReplaceAll(s, "\r", "") }
		require.Equal(t, plain(strings.Replace(unify(src), unify(old), unify(next), n)), plain(got))
		if !all {
			head := strings.Index(unify(src), unify(old))
			v := newView(src)
			require.Equal(t, src[:v.raw(head)], got[:v.raw(head)], "what comes before stays, to the byte")
			rest := src[v.raw(head+len(unify(old))):]
			require.True(t, strings.HasSuffix(got, rest), "and what comes after")
		}
	})
}
