package mcpclient

import (
	"path"
	"slices"
	"strings"
)

// offers says whether the tool of that name is one of those that the person wants of the server.
func (s *Server) offers(tool string) bool {
	is := func(pattern string) bool { return matches(pattern, tool) }
	return (len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, is)) && !slices.ContainsFunc(s.Deny, is)
}

// matches says whether a name is the pattern or fits it. A * stands for slashes too, which names of tools may have.
func matches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return err == nil && ok
}
