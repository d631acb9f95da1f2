package tools

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNesting is how many wrappers are taken off one another.
const maxNesting = 8

// maxReadings is how many commands are looked for in one. A command that may run more is asked about.
const maxReadings = 256

// readings are the other ways to read a simple command: by the bare name of its program, and without each wrapper
// around it. Rules that ask or deny see them, rules that allow do not.
func readings(words []string) (out [][]string) {
	seen := make(map[string]bool)
	add := func(w []string) bool {
		if len(w) == 0 || len(out) == maxReadings {
			return false
		}
		key := strings.Join(w, "\x00")
		if seen[key] {
			return false
		}
		seen[key] = true
		out = append(out, w)
		return true
	}
	for depth, level := 0, [][]string{words}; len(level) > 0; depth++ {
		var next [][]string
		for _, w := range level {
			if b := base(w[0]); b != w[0] {
				add(append([]string{b}, w[1:]...))
			}
			if depth == maxNesting {
				continue
			}
			for _, inner := range inside(w) {
				if add(inner) {
					next = append(next, inner)
				}
			}
		}
		level = next
	}
	return out
}

// wrapper is a program that runs another one. values are its options that take the next word, skip is how many words
// of its own come before the command.
type wrapper struct {
	values string
	skip   int
}

func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "command", "builtin", "exec", "nohup", "setsid", "time", "busybox", "toybox", "then", "do", "else", "!":
		return wrapper{values: "a"}, true
	case "env":
		return wrapper{values: "u C S P unset chdir"}, true
	case "sudo", "doas":
		return wrapper{values: "u g h p C T R D r t U user group host prompt chdir"}, true
	case "xargs":
		return wrapper{values: "a d E I L n P s arg-file delimiter max-args max-procs max-lines replace"}, true
	case "nice":
		return wrapper{values: "n adjustment"}, true
	case "ionice":
		return wrapper{values: "c n p class classdata"}, true
	case "stdbuf":
		return wrapper{values: "i o e"}, true
	case "timeout":
		return wrapper{values: "s k signal kill-after", skip: 1}, true
	case "chroot", "flock", "taskset", "watch", "script", "strace", "ltrace", "unshare", "nsenter", "chrt":
		return wrapper{values: "n o e p", skip: map[string]int{"chroot": 1, "flock": 1, "taskset": 1, "chrt": 1}[name]}, true
	}
	return wrapper{}, false
}

// inside are the commands that a command runs in turn, as far as its words show them.
func inside(words []string) [][]string {
	name := base(words[0])
	if w, ok := wrapperOf(name); ok {
		if inner := w.strip(words[1:], name == "env" || name == "sudo" || name == "doas"); len(inner) > 0 {
			return [][]string{inner}
		}
		return nil
	}
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "su":
		for i, w := range words[:len(words)-1] {
			if i > 0 && strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c") {
				return scriptCalls(words[i+1])
			}
		}
	case "eval":
		return scriptCalls(strings.Join(words[1:], " "))
	case "find":
		var out [][]string
		for i, w := range words {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w) && i+1 < len(words) {
				out = append(out, words[i+1:])
			}
		}
		return out
	}
	return nil
}

// strip leaves out a wrapper's own options, and assignments where it takes those.
func (w wrapper) strip(words []string, assigns bool) []string {
	values := strings.Fields(w.values)
	i := 0
	for i < len(words) {
		word := words[i]
		switch {
		case word == "--":
			return skipWords(words[i+1:], w.skip)
		case strings.HasPrefix(word, "-") && len(word) > 1:
			i++
			if long, ok := strings.CutPrefix(word, "--"); ok && slices.Contains(values, long) ||
				!strings.HasPrefix(word, "--") && slices.Contains(values, word[len(word)-1:]) && len(word) == 2 {
				i++
			}
		case assigns && strings.Contains(word, "=") && !strings.HasPrefix(word, "="):
			i++
		default:
			return skipWords(words[i:], w.skip)
		}
	}
	return nil
}

func skipWords(words []string, n int) []string { return words[min(n, len(words)):] }

// scriptCalls are the simple commands of a script that is one word.
func scriptCalls(script string) [][]string {
	if len(script) > maxCommand {
		return nil
	}
	calls := takeApart(script, syntax.LangBash).calls
	return calls[:min(len(calls), 100)]
}

// wraps says why a command whose program is harmless by itself may not be allowed by a rule about that program: it
// runs another one, or a script.
func wraps(words []string) string {
	switch name := base(words[0]); name {
	case "env", "command", "xargs":
		asks := name == "command" && slices.ContainsFunc(words, func(w string) bool { return w == "-v" || w == "-V" })
		if len(words) > 1 && !asks {
			return "it runs another command through " + name
		}
	case "find":
		if slices.ContainsFunc(words, func(w string) bool {
			return w == "-delete" || strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-fprint") || w == "-fls"
		}) {
			return "it changes files or runs commands through find"
		}
	case "eval", "source", ".":
		return "it runs text as commands (" + name + ")"
	}
	return ""
}
