package mcpclient

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	maxName = 64 // what every provider takes
	joint   = "__"
	mark    = "_x" // before the hash of a name that does not fit as it is
	hashLen = 12
	maxSlug = 20 // of a server's name before a hash
)

var (
	plain  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	marked = regexp.MustCompile(mark + `[0-9a-f]{12}$`)
	odd    = regexp.MustCompile(`[^A-Za-z0-9-]+`)
)

// ToolName is the name under which the model sees a server's tool. It is SERVER__TOOL where that fits
// ^[A-Za-z0-9_-]{1,64}$ and can be taken apart again at its first "__"; otherwise what is readable of it, and a hash of
// both names. It depends on nothing but the two names, gives no two pairs the same name, and always has a "__", which
// no built-in tool has.
func ToolName(server, tool string) string {
	name := server + joint + tool
	clean := plain.MatchString(server) && plain.MatchString(tool) && len(name) <= maxName &&
		!strings.Contains(server, joint) && !strings.HasSuffix(server, "_") && !marked.MatchString(name)
	if clean {
		return name
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(server), server, tool))
	tail := mark + fmt.Sprintf("%x", sum)[:hashLen]
	head := slug(server, maxSlug) + joint
	return head + slug(tool, maxName-len(head)-len(tail)) + tail
}

// originalName takes the name of a tool apart again: how the server calls it, and whether it is that server's. Of a name with
// a hash it is the name itself, and the server may be another one whose name reads alike.
func originalName(server, name string) (tool string, ours bool) {
	head, tool, _ := strings.Cut(name, joint)
	if marked.MatchString(name) {
		return name, head == slug(server, maxSlug)
	}
	return tool, head == server
}

// namesServer says whether a server can be told by the name of its tool: a slug may leave out letters of its name.
func namesServer(name, server string) bool {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				return r
			}
			return -1
		}, s)
	}
	head, _, found := strings.Cut(name, joint)
	return found && letters(head) == letters(server)
}

// Typed is a server's name as it is typed in a prompt, where a space ends a name.
func Typed(server string) string {
	return strings.Join(strings.Fields(server), "_")
}

// Meant is the server that a name is meant for: its own, as it is typed, or what stands before "__" in the names of its tools.
// It is false where there is none.
func Meant(servers []string, name string) (server string, ok bool) {
	if slices.Contains(servers, name) {
		return name, true
	}
	for _, other := range slices.Sorted(slices.Values(servers)) {
		if prefix, _, _ := strings.Cut(ToolName(other, "x"), joint); prefix == name || Typed(other) == name {
			return other, true
		}
	}
	return "", false
}

// slug is what can be read of s in at most n letters, digits, dashes and single underscores.
func slug(s string, n int) string {
	s = strings.Trim(odd.ReplaceAllString(s, "_"), "_")
	if len(s) > n {
		s = strings.TrimRight(s[:n], "_")
	}
	if s == "" {
		return "x"
	}
	return s
}

// Unique renames servers that have the name of one before them, by a number, so that their tools stay apart. A server
// without a name is called "server".
func Unique(servers []Server) []Server {
	out := make([]Server, len(servers))
	taken := map[string]bool{}
	for _, s := range servers {
		taken[s.Name] = true
	}
	seen := map[string]bool{}
	for i, s := range servers {
		if s.Name == "" {
			s.Name = "server"
		}
		base := s.Name
		for n := 2; seen[s.Name]; n++ {
			if next := fmt.Sprintf("%s-%d", base, n); !taken[next] {
				s.Name = next
			}
		}
		seen[s.Name] = true
		out[i] = s
	}
	return out
}
