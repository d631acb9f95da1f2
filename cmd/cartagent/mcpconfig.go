package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cartagent/cartagent/mcpclient"
)

// serverSpec is an MCP server in the field's usual shape, as a file has it. Command, Args, Env, URL and Headers may
// refer to variables until ready has put them in.
type serverSpec struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Timeout string            `json:"timeout,omitempty"`
	Ceiling string            `json:"ceiling,omitempty"`
	Trusted bool              `json:"trusted,omitempty"`
	Tools   toolFilter        `json:"tools,omitzero"`
	OAuth   oauthSpec         `json:"oauth,omitzero"`

	wrong   bool        // it cannot be used
	file    string      // where it is configured
	written *serverSpec // as it is written there; nil where this is it
	dir     string      // where its command runs, if it is a project's own; else the session's folder
	hidden  []string    // what must not be shown: values of variables, headers and its environment, and those whose names tell
}

// toolFilter says which of a server's tools there are: the allowed ones (all, if none are named) but for the denied.
// They are exact names or patterns with * and ?.
type toolFilter struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// servers reads an object of servers by name.
func (d *document) servers(path string, raw json.RawMessage) map[string]serverSpec {
	out := make(map[string]serverSpec)
	d.each(path, raw, func(name, path string, raw json.RawMessage) {
		if err := checkServerName(name); err != nil {
			d.wrong(path, "%w", err)
		}
		out[name] = d.server(path, raw)
	})
	return out
}

// maxServerName is the length of the longest name of a server, in characters.
const maxServerName = 64

func checkServerName(name string) error {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	odd := func(r rune) bool { return !plain(r) && !strings.ContainsRune(" ._-", r) }
	first, _ := utf8.DecodeRuneInString(name)
	if !plain(first) || strings.HasSuffix(name, " ") || utf8.RuneCountInString(name) > maxServerName || strings.ContainsFunc(name, odd) {
		return errors.New("a server's name has 1 to 64 letters, digits, spaces, dots, dashes and underscores, begins with a letter or a digit and does not end with a space")
	}
	return nil
}

func (d *document) server(at string, raw json.RawMessage) serverSpec {
	s := serverSpec{file: d.name}
	before := len(d.errs)
	d.object(at, raw, fields{
		"type":    func(p string, raw json.RawMessage) { s.Type = d.text(p, raw) },
		"command": func(p string, raw json.RawMessage) { s.Command = d.text(p, raw) },
		"args":    func(p string, raw json.RawMessage) { s.Args = d.texts(p, raw) },
		"env":     func(p string, raw json.RawMessage) { s.Env = d.textMap(p, raw) },
		"url":     func(p string, raw json.RawMessage) { s.URL = d.text(p, raw) },
		"headers": func(p string, raw json.RawMessage) { s.Headers = d.textMap(p, raw) },
		"timeout": func(p string, raw json.RawMessage) { s.Timeout = d.text(p, raw) },
		"ceiling": func(p string, raw json.RawMessage) { s.Ceiling = d.text(p, raw) },
		"trusted": func(p string, raw json.RawMessage) { s.Trusted = d.yes(p, raw) },
		"oauth": func(p string, raw json.RawMessage) {
			d.object(p, raw, fields{
				"clientId":     func(p string, raw json.RawMessage) { s.OAuth.ClientID = d.text(p, raw) },
				"clientSecret": func(p string, raw json.RawMessage) { s.OAuth.ClientSecret = d.text(p, raw) },
				"redirect":     func(p string, raw json.RawMessage) { s.OAuth.Redirect = d.text(p, raw) },
				"grant":        func(p string, raw json.RawMessage) { s.OAuth.Grant = d.text(p, raw) },
			})
		},
		"tools": func(p string, raw json.RawMessage) {
			d.object(p, raw, fields{
				"allow": func(p string, raw json.RawMessage) { s.Tools.Allow = d.texts(p, raw) },
				"deny":  func(p string, raw json.RawMessage) { s.Tools.Deny = d.texts(p, raw) },
			})
		},
	})
	if len(d.errs) == before { // else what is missing may be what could not be read
		s.check(func(key string, err error) {
			where := at
			if key != "" {
				where += "." + key
			}
			d.wrong(where, "%w", err)
		})
	}
	s.wrong = len(d.errs) > before
	return s
}

// check says what is wrong with a server, but for what its variables make of it. The key is empty where it is the
// server as a whole.
func (s *serverSpec) check(wrong func(key string, err error)) {
	switch {
	case s.Command != "" && s.URL != "":
		wrong("", errors.New("it has a command and a url: leave one of them out"))
	case s.Command == "" && s.URL == "":
		wrong("", errors.New("it has no command and no url: give it a command to start, or the url of a server that is there"))
	case s.Command != "":
		s.checkCommand(wrong)
	default:
		s.checkRemote(wrong)
	}
	timeout, err := waiting(s.Timeout, "60s")
	if err != nil {
		wrong("timeout", err)
	}
	switch ceiling, bad := waiting(s.Ceiling, "30m"); {
	case bad != nil:
		wrong("ceiling", bad)
	case ceiling > 0 && err == nil && ceiling < cmp.Or(timeout, mcpclient.DefaultTimeout):
		wrong("ceiling", fmt.Errorf("%q is less than the timeout, %s: make it longer, or leave it out", s.Ceiling,
			cmp.Or(s.Timeout, "60s where none is set")))
	}
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"tools.allow", s.Tools.Allow}, {"tools.deny", s.Tools.Deny}} {
		for i, p := range list.patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" {
				wrong(fmt.Sprintf("%s[%d]", list.key, i), fmt.Errorf("%q is no name of a tool and no pattern of names", p))
			}
		}
	}
}

func (s *serverSpec) checkCommand(wrong func(key string, err error)) {
	if s.Type == "stdio" {
		s.Type = "" // a command is spoken to in no other way
	}
	if s.Type != "" {
		wrong("type", fmt.Errorf("%q does not go with a command: leave it out, or make it stdio", s.Type))
	}
	if len(s.Headers) > 0 {
		wrong("headers", errors.New("a server with a command gets no headers; give it env"))
	}
	if s.OAuth != (oauthSpec{}) {
		wrong("oauth", errors.New("a server with a command has nobody to sign in with; give it env"))
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			wrong(below("env", k), errors.New("that is no name of a variable"))
		}
	}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (s *serverSpec) checkRemote(wrong func(key string, err error)) {
	switch s.Type {
	case "", mcpclient.TypeHTTP, mcpclient.TypeSSE:
	case "streamable-http":
		s.Type = mcpclient.TypeHTTP // as others write it
	case "stdio":
		wrong("type", errors.New(`"stdio" does not go with a url: leave it out, or make it http or sse`))
	default:
		wrong("type", fmt.Errorf("%q is not known: use http (which streamable-http means too) or sse, or stdio for a command", s.Type))
	}
	local := errors.New("it goes with a command, and this server has a url")
	if len(s.Args) > 0 {
		wrong("args", local)
	}
	if len(s.Env) > 0 {
		wrong("env", local)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		if !headerName.MatchString(k) {
			wrong(below("headers", k), errors.New("that is no name of a header"))
		}
	}
	s.OAuth.check(wrong)
	if len(references(s.URL)) == 0 {
		if err := checkAddress(s.URL); err != nil {
			wrong("url", err)
		}
	}
}

// checkAddress never quotes the address: it may have a secret in it.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("it must be an address such as https://example.com/mcp")
	case u.User != nil:
		return errors.New("it must not have a name and a password in it: send them as a header")
	case u.Fragment != "":
		return errors.New("it must not have a # in it")
	}
	return nil
}

// waiting reads a time to wait, such as the example; zero where there is none.
func waiting(text, example string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time to wait: use a duration such as %s", text, example)
	}
	return d, nil
}

// ready is the server with its variables put in. What is wrong is told by the key.
func (s serverSpec) ready(env func(string) string, wrong func(key string, err error)) serverSpec {
	written := s
	bad := make(map[string]bool)
	fail := func(key string, err error) {
		bad[key] = true
		wrong(key, err)
	}
	e := &expander{env: env, fail: fail}
	s.Command = e.text("command", s.Command)
	s.Args = slices.Clone(s.Args)
	for i, a := range s.Args {
		s.Args[i] = e.text(fmt.Sprintf("args[%d]", i), a)
	}
	s.URL = e.text("url", s.URL)
	s.OAuth.ClientSecret = e.text("oauth.clientSecret", s.OAuth.ClientSecret)
	if s.OAuth.ClientSecret != "" {
		e.secret = append(e.secret, s.OAuth.ClientSecret)
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for key, values := range map[string]map[string]string{"env": s.Env, "headers": s.Headers} {
		for _, k := range slices.Sorted(maps.Keys(values)) {
			v := e.text(below(key, k), values[k])
			values[k] = v
			e.secret = append(e.secret, v)
			if strings.ContainsAny(v, "\x00") || key == "headers" && strings.ContainsAny(v, "\r\n") {
				fail(below(key, k), errors.New("its value has a character in it that cannot be sent"))
			}
		}
	}
	if s.URL != "" && !bad["url"] {
		if err := checkAddress(s.URL); err != nil {
			fail("url", err)
		}
	}
	s.hidden, s.written = append(e.secret, sharedSecrets(s.URL, s.Args)...), &written
	return s
}

// keyed says whether a value that must not be shown was written out where the server is configured. What is shorter than
// any key is none: DEBUG=1.
func (s *serverSpec) keyed() bool {
	const shortest = 8
	if s.written == nil {
		return false
	}
	values := slices.AppendSeq([]string{s.written.OAuth.ClientSecret}, maps.Values(s.written.Env))
	values = slices.AppendSeq(values, maps.Values(s.written.Headers))
	values = append(values, sharedSecrets(s.written.URL, s.written.Args)...)
	return slices.ContainsFunc(values, func(v string) bool { return len(v) >= shortest && !strings.Contains(v, "${") })
}

// conceal takes from a text what must not be shown of the server.
func (s *serverSpec) conceal(text string) string {
	return mcpclient.Server{Secrets: s.hidden}.Conceal(text)
}

// server is what connects to it. A project's own command, if its path is relative, is one in the project's folder.
func (s *serverSpec) server(name, work string) mcpclient.Server {
	timeout, _ := waiting(s.Timeout, "") // both were checked when they were read
	ceiling, _ := waiting(s.Ceiling, "")
	command := s.Command
	if s.dir != "" && command != "" && !filepath.IsAbs(command) && filepath.Base(command) != command {
		command = filepath.Join(s.dir, command)
	}
	return mcpclient.Server{
		Name: name, Command: command, Args: s.Args, Env: s.Env, Dir: cmp.Or(s.dir, work),
		Type: s.Type, URL: s.URL, Headers: s.Headers, Timeout: timeout, Ceiling: ceiling, Trusted: s.Trusted,
		Allow: s.Tools.Allow, Deny: s.Tools.Deny, Secrets: s.hidden,
	}
}
