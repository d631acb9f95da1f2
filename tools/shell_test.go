package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// judge is what the rules make of a command line.
func judge(rules loop.Rules, line string) loop.Verdict {
	subjects, caution := Commands(line)
	v, _ := rules.Decide(loop.Spec{Name: "terminal"}, loop.Preview{Subjects: subjects, Caution: caution})
	return v
}

func TestC016NothingHidesBehindAnAllowedWord(t *testing.T) {
	t.Parallel()
	rules := loop.Rules{
		{Tool: "terminal", Prefix: []string{"ls"}, Verdict: loop.Allow},
		{Tool: "terminal", Prefix: []string{"env"}, Verdict: loop.Allow},
		{Tool: "terminal", Prefix: []string{"find"}, Verdict: loop.Allow},
		{Tool: "terminal", Prefix: []string{"command"}, Verdict: loop.Allow},
		{Tool: "terminal", Prefix: []string{"git", "status"}, Verdict: loop.Allow},
		{Tool: "terminal", Prefix: []string{"wc"}, Verdict: loop.Allow},
	}
	for _, line := range []string{
		"ls; touch pwn1", "ls && touch pwn2", "ls | xargs touch pwn3", "ls $(touch pwn4)", "ls `touch pwn5`", "ls\ntouch pwn6",
		"ls > pwn7", "lsof", "LS=1 touch pwn8", "ls & touch pwn9", "ls <(touch pwn10)", "ls &> pwn", "ls >& pwn", "ls 2> pwn",
		"ls >> pwn", "ls >| pwn", "ls <> pwn", "ls &", "ls || touch p", "ls | tee pwn", "(ls; touch p)", "{ ls; touch p; }",
		"if ls; then touch p; fi", "while ls; do touch p; done", "for i in a; do ls; done", "ls() { touch p; }; ls", "! touch p",
		"ls \"$(touch p)\"", "ls \"`touch p`\"", "ls $((1))", "ls ${x:=y}", "ls $x", "$x", "l? x", "ls <<< $(touch p)",
		"ls <<E\n$(touch p)\nE", "case x in x) touch p;; esac", "PATH=. ls", "LD_PRELOAD=./x.so ls", "GIT_PAGER=x git status",
		"eval ls", ". ./ls", "source ls", "env touch p", "env -S 'touch p'", "find . -delete", "find . -exec touch p ;",
		"find . -fprint pwn", "command touch p", "ls {a,b}", "{ls,-l}", "ls $'\\x41'", "ls 'a", "ls (", "", "  ", "# ls", "X=1",
		"coproc ls", "ls |& touch p", "[[ -f x ]]", "((x=1))", "export X=1", "alias ls=touch", "git 'status' ; rm x", "git status2", "ls\r\ntouch p",
		"function ls { touch p; }", "trap 'touch p' EXIT", "exec ls", "ls\\\n;touch p",
	} {
		assert.Equal(t, loop.Ask, judge(rules, line), line)
	}
	for _, line := range []string{
		"ls", "ls -la", "FOO=bar ls", "ls; ls", "ls | wc -l", "ls && git status", "ls 2>&1", "ls 2>/dev/null", "ls < in.txt", "l\\s",
		"'ls' -l", `"ls" "a b"`, "ls *.go", "command -v go", "find . -name '*.go'", "ls # ; touch p", "ls 'a;b' \"c|d\"", "env",
		"wc <<'E'\n$(touch p)\nE", "ls \\; touch", "git   status --short", "! ls", "(ls)", "ls >&2",
	} {
		assert.Equal(t, loop.Allow, judge(rules, line), line)
	}
}

func TestC016DeniedProgramsAreSeenThrough(t *testing.T) {
	t.Parallel()
	rules := loop.Rules{
		{Tool: "terminal", Verdict: loop.Allow},
		{Tool: "terminal", Prefix: []string{"rm"}, Verdict: loop.Deny},
		{Tool: "terminal", Prefix: []string{"git", "push"}, Verdict: loop.Deny},
	}
	for _, line := range []string{
		"cd . && rm x", `\rm x`, "command rm x", "/bin/rm x", "env rm x", "env -i A=b rm x", "env -u HOME rm x", "sudo -u root rm x",
		"sudo -E rm x", "nohup rm x &", "echo x | xargs -n 1 rm", "xargs -0 rm", "timeout 5 rm x", "timeout -k 1 5 rm x", "nice -n 5 rm x",
		"sh -c 'rm x'", "bash -lc 'cd /; rm x'", "eval 'rm x'", "find . -exec rm {} ;", "'r'm x", `"rm" x`, "r\\m x", "exec rm x",
		"env sudo nice rm x", "time rm x", "busybox rm x", "$(rm x)", "echo `rm x`", "(rm x)", "if true; then rm x; fi", "f() { rm x; }; f",
		"cat <(rm x)", "for f in *; do rm $f; done", "echo a; rm x", "git push", "git push --force", "/usr/bin/git push", "env -- rm x",
		"rm", "a=$(rm x)", "while rm x; do :; done", "case a in a) rm x;; esac", "xargs rm < list", "sh -c \"sh -c 'rm x'\"",
	} {
		assert.Equal(t, loop.Deny, judge(rules, line), line)
	}
	for _, line := range []string{"git pull", "echo rm", "ls rm", "rmdir x", "git log push"} {
		assert.Equal(t, loop.Allow, judge(rules, line), line)
	}
}

func TestSubjectsAreWords(t *testing.T) {
	t.Parallel()
	subjects, caution := Commands(`cd src && /usr/bin/go test "./a b/..." | grep -v 'x y'`)
	assert.Empty(t, caution)
	assert.Equal(t, []loop.Subject{
		{Words: []string{"cd", "src"}},
		{Words: []string{"/usr/bin/go", "test", "./a b/..."}, Also: [][]string{{"go", "test", "./a b/..."}}},
		{Words: []string{"grep", "-v", "x y"}},
	}, subjects)
	subjects, caution = Commands("echo 'open")
	assert.NotEmpty(t, subjects)
	assert.Contains(t, caution, "cannot be parsed")
	_, caution = Commands("echo " + repeat("x", maxCommand))
	assert.Contains(t, caution, "too long")
}

func FuzzCommands(f *testing.F) {
	for _, s := range []string{"ls", "ls; rm x", "a && b | c", "env -u X sh -c 'rm x'", "$(a)", "a <<E\nb\nE", "{a,b}", "f() { x; }", "'", "\\", "a=b c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		subjects, caution := Commands(line)
		require.NotEmpty(t, subjects, "no subject would mean: judged by the tool alone")
		for _, s := range subjects {
			require.NotEmpty(t, s.Words)
			require.False(t, slices.ContainsFunc(s.Also, func(w []string) bool { return len(w) == 0 }))
		}
		if caution != "" {
			return
		}
		// Without a caution nothing is substituted or written, and a rule for another program never lets it through.
		require.Equal(t, loop.Ask, judge(loop.Rules{{Tool: "terminal", Prefix: []string{"no such program"}, Verdict: loop.Allow}}, line))
		// What stands behind it is seen as a command of its own.
		more, _ := Commands(line + "\ntouch pwn")
		require.True(t, slices.ContainsFunc(more, func(s loop.Subject) bool {
			return strings.Contains(strings.Join(s.Words, " "), "touch pwn") || strings.Contains(strings.Join(s.Words, " "), "touch")
		}) || strings.Contains(line, "<<") || strings.HasSuffix(line, "\\"), "%q", line)
	})
}
