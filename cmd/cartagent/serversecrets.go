package main

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/mcpclient"
)

// sharedSecrets are what an address and the arguments of a command hand over under a name that tells.
func sharedSecrets(address string, args []string) []string {
	return slices.Concat(addressSecrets(address), argumentSecrets(args))
}

// withSecrets is a server of the client's, with what must not be shown of it.
func withSecrets(s mcpclient.Server) mcpclient.Server {
	s.Secrets = slices.AppendSeq(sharedSecrets(s.URL, s.Args), maps.Values(s.Env))
	s.Secrets = slices.AppendSeq(s.Secrets, maps.Values(s.Headers))
	return s
}

// addressSecrets are the password in an address, and the values in its query whose names tell, as they are and as they
// are written there.
func addressSecrets(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var out []string
	if word, ok := u.User.Password(); ok {
		out = append(out, word, url.UserPassword("", word).String()[1:])
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(value); err == nil && tells(name, plain) {
			out = append(out, value, plain)
		}
	}
	return out
}

// namedValue is an argument that has a name and a value: --token=x, API_KEY=x, Authorization: x.
var namedValue = regexp.MustCompile(`^-{0,2}([A-Za-z0-9_-]+)(?:=|:\s*)(.+)$`)

// argumentSecrets are the values in a command's arguments whose names tell.
func argumentSecrets(args []string) []string {
	var out []string
	for i, arg := range args {
		if m := namedValue.FindStringSubmatch(arg); m != nil && tells(m[1], m[2]) {
			out = append(out, m[2])
		}
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.HasPrefix(arg, "-") && tells(args[i-1], arg) {
			out = append(out, arg)
		}
	}
	return out
}

// tells says whether a value of that name is a secret, by the name. What is a path or a number is none, such as --max-tokens.
func tells(name, value string) bool {
	return telling.MatchString(name) && !strings.HasPrefix(value, "/") && strings.Trim(value, "0123456789") != ""
}
