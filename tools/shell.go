package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cartagent/cartagent/loop"
)

// maxCommand is the longest command line that is taken apart; a person is asked about longer ones.
const maxCommand = 64 << 10

// Commands takes a command line apart for the rules: one subject for each simple command in it, with the other
// readings that rules which ask or deny should see. Where the line does more than run the commands that it shows
// (substitution, expansion, redirection into a file, background, functions), or where shells may read it differently,
// caution says so, and no rule can allow it.
func Commands(line string) (subjects []loop.Subject, caution string) {
	if len(line) > maxCommand {
		return []loop.Subject{{Words: []string{line}}}, "the command is too long to be checked"
	}
	posix := takeApart(line, syntax.LangPOSIX)
	bash := takeApart(line, syntax.LangBash)
	best := posix
	if posix.broken && !bash.broken {
		best = bash
	}
	subjects = make([]loop.Subject, 0, len(best.calls))
	crowded := false
	for _, words := range best.calls {
		subjects = append(subjects, loop.Subject{Words: words, Also: readings(words)})
		crowded = crowded || len(subjects[len(subjects)-1].Also) == maxReadings
	}
	if len(subjects) == 0 {
		subjects = []loop.Subject{{Words: []string{line}}}
	}
	caution = firstOf(posix.caution, bash.caution)
	if caution == "" && crowded {
		caution = "it may run more commands than can be looked at"
	}
	if caution == "" && !slices.EqualFunc(posix.calls, bash.calls, slices.Equal[[]string]) {
		caution = "shells read this command differently"
	}
	return subjects, caution
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// parts is what one variant of the shell's language makes of a line.
type parts struct {
	calls   [][]string
	caution string
	broken  bool
}

func (p *parts) warn(format string, args ...any) {
	if p.caution == "" {
		p.caution = fmt.Sprintf(format, args...)
	}
}

func takeApart(line string, lang syntax.LangVariant) parts {
	var p parts
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(line), "")
	if err != nil {
		p.broken = true
		p.warn("the command cannot be parsed: %v", err)
	}
	if file == nil {
		return p
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		p.visit(n)
		return true
	})
	if len(p.calls) == 0 {
		p.warn("the command runs no program by name")
	}
	return p
}

// visit knows what is harmless; whatever it does not know is a reason to ask.
func (p *parts) visit(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess || n.Disown {
			p.warn("it leaves a process in the background")
		}
	case *syntax.CallExpr:
		p.call(n)
	case *syntax.Assign:
		if n.Name == nil || n.Index != nil || n.Array != nil || n.Append || n.Naked {
			p.warn("it sets a variable in a way that is not understood")
		} else if steers(n.Name.Value) {
			p.warn("it sets %s, which can change what programs do", n.Name.Value)
		}
	case *syntax.Redirect:
		p.redirect(n)
	case *syntax.SglQuoted:
		if n.Dollar {
			p.warn("it has a quoting ($'…') that shells read differently")
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			p.warn(`it has a quoting ($"…") that shells read differently`)
		}
	case *syntax.ParamExp:
		p.warn("it depends on a variable")
	case *syntax.CmdSubst, *syntax.ProcSubst:
		p.warn("it runs a command inside of another (substitution)")
	case *syntax.FuncDecl:
		p.warn("it defines a function")
	case nil, *syntax.File, *syntax.Word, *syntax.Lit, *syntax.BinaryCmd, *syntax.Subshell, *syntax.Block,
		*syntax.IfClause, *syntax.WhileClause, *syntax.Comment:
	default:
		p.warn("it uses shell syntax that is not checked (%s)", strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax."))
	}
}

func (p *parts) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return // assignments alone
	}
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		value, open := literal(w)
		words[i] = value
		if i == 0 && open {
			p.warn("which program it runs depends on files or variables")
		}
		if bracesExpand(w) {
			p.warn("it has braces that some shells expand")
		}
	}
	if why := wraps(words); why != "" {
		p.warn("%s", why)
	}
	p.calls = append(p.calls, words)
}

func (p *parts) redirect(r *syntax.Redirect) {
	in := func(ops ...syntax.RedirOperator) bool { return slices.Contains(ops, r.Op) }
	target, open := literal(r.Word)
	switch {
	case in(syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc):
	case in(syntax.DplOut) && !open && strings.Trim(target, "0123456789-") == "": // a copy of a descriptor
	case in(syntax.RdrOut, syntax.AppOut, syntax.RdrClob) && !open && target == "/dev/null":
	case in(syntax.DplOut, syntax.RdrOut, syntax.AppOut, syntax.RdrClob):
		p.warn("it redirects output into a file")
	default:
		p.warn("it has a redirection that is not checked (%s)", r.Op)
	}
}

// literal is a word's value after quotes and backslashes are taken away. Open says that the shell may make something
// else of it: a pattern, a home folder, an expansion.
func literal(w *syntax.Word) (value string, open bool) {
	if w == nil {
		return "", true
	}
	var out strings.Builder
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text, special := unescape(part.Value)
			out.WriteString(text)
			open = open || special || i == 0 && strings.HasPrefix(part.Value, "~")
		case *syntax.SglQuoted:
			out.WriteString(part.Value)
			open = open || part.Dollar
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					open = true
					out.WriteString("$")
					continue
				}
				out.WriteString(unescapeQuoted(lit.Value))
			}
			open = open || part.Dollar
		default:
			open = true
			out.WriteString("$")
		}
	}
	return out.String(), open
}

// unescape takes the backslashes out of unquoted text and says whether it is a file pattern.
func unescape(s string) (string, bool) {
	var out strings.Builder
	special := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				out.WriteByte(s[i])
			}
			continue
		case '*', '?', '[':
			special = true
		}
		out.WriteByte(s[i])
	}
	return out.String(), special
}

// unescapeQuoted does the same between double quotes, where a backslash counts before a few characters only.
func unescapeQuoted(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// bracesExpand says whether bash would make several words of this one: {a,b} or {1..9}, unquoted.
func bracesExpand(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		if i := strings.IndexByte(lit.Value, '{'); i >= 0 {
			if rest := lit.Value[i:]; strings.Contains(rest, ",") || strings.Contains(rest, "..") || len(w.Parts) > 1 {
				return true
			}
		}
	}
	return false
}

// steers says whether a variable's name is one by which programs are told what to run or load. Harmless ones that look
// like it are named.
func steers(name string) bool {
	if slices.Contains([]string{
		"GOOS", "GOARCH", "GOMAXPROCS", "CGO_ENABLED", "NODE_ENV", "RUST_BACKTRACE", "RUST_LOG", "LESSCHARSET",
	}, name) {
		return false
	}
	upper := strings.ToUpper(name)
	for _, prefix := range []string{
		"LD_", "DYLD_", "GIT_", "SSH_", "BASH", "ZSH", "PYTHON", "PERL", "RUBY", "NODE_", "NPM_", "JAVA", "JDK_", "GO",
		"CGO_", "CARGO", "RUST", "LESS", "MAKE", "DOCKER", "KUBE", "AWS_", "GLIBC_", "MALLOC_", "PS",
	} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	for _, inner := range []string{
		"PATH", "OPT", "FLAG", "PAGER", "EDITOR", "VISUAL", "CMD", "COMMAND", "EXEC", "SHELL", "LOAD", "ENV", "HOME",
		"PROXY", "HOOK", "CONF", "INIT", "WRAPPER", "BROWSER", "DIR", "IFS", "TOOL", "PLUGIN", "MODULE", "LIB",
	} {
		if strings.Contains(upper, inner) {
			return true
		}
	}
	return slices.Contains([]string{"CC", "CXX", "LD", "AR", "PWD", "OLDPWD", "TERMINFO", "TERMCAP", "MANROFFOPT"}, upper)
}

// base is the bare name of a program.
func base(name string) string { return path.Base(name) }
