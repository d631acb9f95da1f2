package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestC056Search(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{
		".github/ci.yml": "run: needle\n", ".gitignore": "build/\n", "build/out.txt": "needle\n", ".git/config": "needle\n",
		"a.bin": "needle\x00", "src/a.ts": "x --total y\nneedle", "src/b.tsx": "-e\nneedle\n", "src/c.js": "needle\n",
		"crlf.txt": "the end\r\nend of it\r\n", "brackets": "a[0] \\ b\n",
	})
	bin := "[binary, not searched: a.bin]"
	for _, c := range []struct {
		args m
		want []string
	}{
		{m{"pattern": "--total"}, []string{"src/a.ts\n1:x --total y\n", bin}},
		{m{"pattern": "-e", "glob": "*.tsx"}, []string{"src/b.tsx\n1:-e\n"}},
		{m{"pattern": "-rf /"}, []string{"[no line matches; 8 files searched; binary, not searched: a.bin]"}},
		{m{"pattern": `end$`}, []string{"crlf.txt\n1:the end\n", bin}},
		{m{"pattern": `^end`}, []string{"crlf.txt\n2:end of it\n", bin}},
		{m{"pattern": `\[0\] \\`}, []string{"brackets\n1:a[0] \\ b\n", bin}},
		{m{"pattern": "needle", "glob": "**/*.{ts,tsx}"}, []string{"src/a.ts\n2:needle\n\nsrc/b.tsx\n2:needle\n"}},
		{m{"pattern": "needle", "path": "src/c.js"}, []string{"src/c.js\n1:needle\n"}},
		{m{"pattern": "NEEDLE", "path": "src", "ignore_case": true, "glob": "*.js"}, []string{"src/c.js\n1:needle\n"}},
		{m{"pattern": "needle", "path": ".github"}, []string{".github/ci.yml\n1:run: needle\n"}},
		{m{"pattern": "needle", "path": "build"}, []string{"build/out.txt\n1:needle\n"}},
		{m{"pattern": "needle", "glob": "*.none"}, []string{"[no text file to search there; list shows what there is]"}},
		{m{"pattern": "x", "path": "a.bin"}, []string{"[no text file to search there; list shows what there is; binary, not searched: a.bin]"}},
	} {
		assert.Equal(t, c.want, b.do(t, "search", c.args), "%v", c.args)
	}
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"pattern": "a["}, `missing closing ] at byte 2 ("[")`},
		{m{"pattern": "(?<=a)b"}, `at byte 1 ("(?<=a)b"); RE2 has no lookaround`},
		{m{"pattern": "a{99999}"}, `invalid repeat count at byte 2 ("{99999}")`},
		{m{"pattern": `\`}, "trailing backslash at end of expression"},
		{m{"pattern": ""}, "the pattern is empty"},
		{m{"pattern": "x", "path": "-v"}, "-v does not exist"},
		{m{"pattern": "x", "glob": "["}, "malformed"},
		{m{"pattern": "x", "glob": "../**"}, "goes up by .."},
		{m{"pattern": "x", "glob": "/etc/*"}, "is absolute"},
		{m{"pattern": "x", "path": "../"}, "outside the workspace"},
		{m{"pattern": "x", "context": 99}, "it goes from 0 to 20"},
	} {
		_, err := b.try(t, "search", c.args)
		require.ErrorContains(t, err, c.want, "%v", c.args)
	}
}

func TestSearchContext(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&src, "line %d\n", i)
	}
	b := setUp(t, map[string]string{"f": src.String()})
	for _, pattern := range []string{"line (3|4|12|20)$", "line (3|4|12|20)\\b"} { // by line and by block
		assert.Equal(t, []string{"f\n2-line 2\n3:line 3\n4:line 4\n5-line 5\n--\n11-line 11\n12:line 12\n13-line 13\n--\n19-line 19\n20:line 20\n"},
			b.do(t, "search", m{"pattern": pattern, "context": 1}), pattern)
	}
}

func TestC057LongLines(t *testing.T) {
	t.Parallel()
	line := []byte(repeat("x", 2<<20))
	copy(line[1_500_000:], "needle")
	copy(line[1_900_000:], "needle")
	b := setUp(t, map[string]string{
		"app.min.js": "before\n" + string(line) + "\nafter\n", "log.txt": repeat("a needle\n", 5000),
		"z.txt": repeat("y", 3<<20) + "\nneedle here\n",
	})
	got := b.do(t, "search", m{"pattern": "needle", "context": 1})
	require.Len(t, got, 2)
	out := got[0]
	assert.LessOrEqual(t, len(out), searchBytes)
	window := func(at int) string {
		return fmt.Sprintf("[byte %d]…%sneedle%s…", at-scanAround, repeat("x", scanAround), repeat("x", scanAround))
	}
	assert.Contains(t, out, "app.min.js\n1-before\n2:"+window(1_500_000)+" "+window(1_900_000)+"\n3-after\n")
	assert.Contains(t, out, "z.txt\n1-"+repeat("y", scanWidth)+"…\n2:needle here\n")
	assert.Contains(t, out, "log.txt\n1:a needle\n")
	assert.Regexp(t, `^\[5002 matching lines in 3 files; shown: \d+ in 3 files; narrow pattern, path or glob`, got[1])
}

// A line that is too long to be held is searched in parts that overlap.
func TestC057EndlessLine(t *testing.T) {
	t.Parallel()
	const far = 5_000_000
	line := []byte(repeat("x", 5<<20))
	for _, at := range []int{0, scanLine - 3, far} {
		copy(line[at:], "needle")
	}
	b := setUp(t, map[string]string{"one": string(line), "two": string(line) + "\nneedle 2\n", "none": repeat("q", 5<<20)})
	got := b.do(t, "search", m{"pattern": "needle"})
	require.Len(t, got, 1)
	for _, at := range []int{0, scanLine - 3 - scanAround, far - scanAround} {
		assert.Equal(t, 2, strings.Count(got[0], fmt.Sprintf("[byte %d]", at)), at)
	}
	assert.Contains(t, got[0], "\n2:needle 2\n")
	assert.Equal(t, 6, strings.Count(got[0], "xneedlex")+strings.Count(got[0], "[byte 0]needlex"))
	for _, pattern := range []string{"^xx", "needle$"} { // the border of a part is not that of the line
		assert.Equal(t, []string{"[no line matches; 3 files searched]"}, b.do(t, "search", m{"pattern": pattern}), pattern)
	}
}

func TestC056HugeFileInLittleMemory(t *testing.T) {
	b := setUp(t, nil)
	f, err := os.Create(filepath.Join(b.dir, "huge.txt"))
	require.NoError(t, err)
	block := repeat(repeat("z", 99)+"\n", 10_000)
	for range 200 {
		_, err = f.WriteString(block)
		require.NoError(t, err)
	}
	_, err = f.WriteString("needle\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.do(t, "search", m{"pattern": "needle"})
	runtime.ReadMemStats(&after)
	assert.Equal(t, []string{"huge.txt\n2000001:needle\n"}, got)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

func TestSearchManyFilesGivesEachItsShare(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a-first.txt": repeat("needle in a long line of text, again and again\n", 3000)}
	for i := range 60 {
		files[fmt.Sprintf("f%02d.txt", i)] = repeat("needle\n", 30)
	}
	b := setUp(t, files)
	got := b.do(t, "search", m{"pattern": "needle"})
	require.Len(t, got, 2)
	assert.LessOrEqual(t, len(got[0]), searchBytes)
	assert.Equal(t, 61, strings.Count(got[0], ".txt\n"))
	assert.Contains(t, got[1], "4800 matching lines in 61 files")
	assert.Contains(t, got[1], "in 61 files; narrow")
}

func TestList(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{
		"b.go": "", "a.go": "", ".hidden": "", ".git/HEAD": "", "sub/x.go": "", "sub/deep/y.go": "", "sub/deep/.git": "gitdir: x",
	})
	require.NoError(t, os.Symlink("sub", filepath.Join(b.dir, "link")))
	for _, c := range []struct {
		args m
		want string
	}{
		{m{}, ".hidden\na.go\nb.go\nlink -> sub\nsub/\n"},
		{m{"path": "sub"}, "deep/\nx.go\n"},
		{m{"path": "link"}, "deep/\nx.go\n"},
		{m{"pattern": "*.go"}, "a.go\nb.go\n"},
		{m{"pattern": "**/*.go"}, "a.go\nb.go\nsub/deep/y.go\nsub/x.go\n"},
		{m{"pattern": "*/*.go"}, "sub/x.go\n"},
		{m{"pattern": "{a,sub/x}.go"}, "a.go\nsub/x.go\n"},
		{m{"pattern": "**/y.go", "path": filepath.Join(b.dir, "sub")}, "deep/y.go\n"},
		{m{"pattern": "*.rs"}, "[nothing matches *.rs; ** stands for any folders]"},
	} {
		assert.Equal(t, []string{c.want}, b.do(t, "list", c.args), "%v", c.args)
	}
	_, err := b.try(t, "list", m{"path": "a.go"})
	require.ErrorContains(t, err, "a.go is a file; use read")
	_, err = b.try(t, "list", m{"pattern": "../*"})
	require.ErrorContains(t, err, "goes up by ..")
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1500 {
		files[fmt.Sprintf("d/%04d", i)] = ""
	}
	b := setUp(t, files)
	got := b.do(t, "list", m{"path": "d"})
	require.Len(t, got, 2)
	assert.Equal(t, 1000, strings.Count(got[0], "\n"))
	assert.Equal(t, "[1000 of 1500 entries; narrow pattern or path to see the rest]", got[1])
}

func BenchmarkSearch(b *testing.B) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("pkg%02d/file%d.go", i%50, i)] = repeat("func handler(w http.ResponseWriter, r *http.Request) error {\n\treturn nil\n}\n", 60)
	}
	files["pkg07/target.go"] = "var needleVariable = 1\n"
	w := setUp(b, files)
	for name, args := range map[string]m{
		"literal": {"pattern": "needleVariable"}, "ignore case": {"pattern": "needlevariable", "ignore_case": true},
		"anchored": {"pattern": `^var needle\w+ = \d$`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.do(b, "search", args)
			}
		})
	}
}

func TestUnreadablePartsAreNamed(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root can read everything")
	}
	b := setUp(t, map[string]string{"closed/x": "needle", "shut": "needle", "open": "needle\n"})
	for _, name := range []string{"closed", "shut"} {
		path := filepath.Join(b.dir, name)
		require.NoError(t, os.Chmod(path, 0))
		t.Cleanup(func() { require.NoError(t, os.Chmod(path, 0o700)) })
	}
	assert.Equal(t, []string{"open\n1:needle\n", "[not readable: closed (permission denied), shut (permission denied)]"},
		b.do(t, "search", m{"pattern": "needle"}))
	assert.Contains(t, b.do(t, "list", m{"pattern": "**"})[1], "closed (permission denied)")
}
