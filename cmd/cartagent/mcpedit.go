package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/mcpclient"
)

// addFlags are those of `mcp add`.
type addFlags struct {
	env, headers   []string
	kind           string
	timeout        string
	ceiling        string
	trusted, force bool
}

// spec is the server that the command line describes. dash is how many arguments come before a --, or -1.
func (f addFlags) spec(args []string, dash int) (*serverSpec, error) {
	s := &serverSpec{Type: f.kind, Timeout: f.timeout, Ceiling: f.ceiling, Trusted: f.trusted}
	switch {
	case dash == 1 && len(args) > 1:
		s.Command, s.Args = args[1], args[2:]
	case dash == 1:
		return nil, errors.New("there is no command behind the --")
	case dash > 1:
		return nil, errors.New("before the -- there must be the NAME only, and behind it the command")
	case dash == 0:
		return nil, errors.New("the NAME comes first, and then -- and the command")
	case len(args) == 2 && (strings.Contains(args[1], "://") || strings.HasPrefix(args[1], "${")):
		if s.URL = args[1]; s.Type == "" {
			s.Type = mcpclient.TypeHTTP
		}
	case len(args) == 1:
		return nil, fmt.Errorf("what is %s? Give it a URL, or a command: cartagent mcp add %s -- COMMAND ARGS…", shown(args[0]), shown(args[0]))
	default:
		return nil, fmt.Errorf("%s is no URL; a command goes behind --: cartagent mcp add %s -- %s", shown(args[1]), shown(args[0]), commandLine(args[1], args[2:]))
	}
	if err := checkServerName(args[0]); err != nil {
		return nil, fmt.Errorf("%q: %w", args[0], err)
	}
	var err error
	if s.Env, err = pairs("--env", f.env, "=", variableName); err != nil {
		return nil, err
	}
	if s.Headers, err = pairs("--header", f.headers, ":", headerName); err != nil {
		return nil, err
	}
	return s, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pairs reads names and values. Its errors quote no values.
func pairs(flag string, list []string, sign string, valid *regexp.Regexp) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(list))
	for _, item := range list {
		name, value, found := strings.Cut(item, sign)
		if sign == ":" {
			value = strings.TrimSpace(value)
		}
		switch {
		case !found:
			return nil, fmt.Errorf("%s takes a name and a value with %q in between", flag, sign)
		case !valid.MatchString(name):
			return nil, fmt.Errorf("%s: %q is no name of what it sets", flag, name)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s: %s is there twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// addServer writes a server into config.json.
func addServer(ctx context.Context, c console, name string, s *serverSpec, force bool) error {
	var errs []error
	wrong := func(key string, err error) {
		if key != "" {
			err = fmt.Errorf("%s: %w", key, err)
		}
		errs = append(errs, err)
	}
	s.check(wrong)
	if len(errs) == 0 {
		s.ready(c.env, func(key string, err error) {
			if unset, ok := errors.AsType[*unsetError](err); ok {
				c.tell(fmt.Sprintf("the variable %s is not set now, and must be when the server is used", unset.name))
				return
			}
			wrong(key, err)
		})
	}
	if err := errors.Join(errs...); err != nil {
		return usageError(err)
	}
	file, err := changeConfig(ctx, c, func(data []byte) ([]byte, error) { return withServer(data, name, s, force) })
	if err != nil {
		return err
	}
	c.tell(fmt.Sprintf("%s is in %s now; `cartagent mcp list` tries it", name, file))
	return nil
}

// removeServer takes a server out of config.json, and forgets its tokens.
func removeServer(ctx context.Context, c console, name string) error {
	var addresses map[string]string
	file, err := changeConfig(ctx, c, func(data []byte) ([]byte, error) {
		addresses = addressesIn(c, data)
		return withoutServer(data, name)
	})
	if err != nil {
		return err
	}
	c.tell(fmt.Sprintf("%s is no longer in %s", shown(name), file))
	return forgetTokens(ctx, c, name, addresses)
}

// changeConfig changes config.json as a whole, with no other process in between.
func changeConfig(ctx context.Context, c console, change func([]byte) ([]byte, error)) (string, error) {
	dir := configDir(c.env)
	if dir == "" {
		return "", usageError(errors.New("there is no folder for the configuration: set HOME or CARTAGENT_CONFIG_DIR"))
	}
	file := filepath.Join(dir, configName)
	err := withLock(ctx, file, func() error {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text, marked := bytes.CutPrefix(data, []byte(bom))
		changed, err := change(text)
		if err != nil {
			return usageError(fmt.Errorf("%s: %w", file, err))
		}
		if marked {
			changed = append([]byte(bom), changed...)
		}
		return replaceFile(linked(file), configName, changed)
	})
	var usage *exitCode
	if err != nil && !errors.As(err, &usage) {
		err = &exitCode{code: exitError, err: fmt.Errorf("changing the configuration: %w", err)}
	}
	return file, err
}

// withServer is the configuration with the server in it. Nothing else of it changes, not even how it is written.
func withServer(data []byte, name string, s *serverSpec, force bool) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{\n}\n")
	}
	top, err := configMembers(data)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(top, func(m member) bool { return m.key == "mcpServers" && string(m.value) != "null" })
	if i < 0 {
		null := slices.IndexFunc(top, func(m member) bool { return m.key == "mcpServers" })
		entry, err := marshal(map[string]*serverSpec{name: s})
		if err != nil {
			return nil, err
		}
		return put(data, data, 0, null, "mcpServers", entry)
	}
	all, err := members(top[i].value)
	if err != nil {
		return nil, fmt.Errorf("mcpServers: must be an object, not %s", kindOf(top[i].value))
	}
	entry, err := marshal(s)
	if err != nil {
		return nil, err
	}
	there := slices.IndexFunc(all, func(m member) bool { return m.key == name })
	if there >= 0 && !force {
		return nil, fmt.Errorf("there is a server %s already; --force replaces it, and `cartagent mcp remove` removes it", name)
	}
	return put(data, top[i].value, top[i].at, there, name, entry)
}

// withoutServer is the configuration without the server.
func withoutServer(data []byte, name string) ([]byte, error) {
	missing := fmt.Errorf("there is no server %s in it", shown(name))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, missing
	}
	top, err := configMembers(data)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(top, func(m member) bool { return m.key == "mcpServers" })
	if i < 0 || string(top[i].value) == "null" {
		return nil, missing
	}
	all, err := members(top[i].value)
	if err != nil {
		return nil, fmt.Errorf("mcpServers: must be an object, not %s", kindOf(top[i].value))
	}
	n := slices.IndexFunc(all, func(m member) bool { return m.key == name })
	if n < 0 {
		var names []string
		for _, m := range all {
			names = append(names, shown(m.key))
		}
		if len(names) > 0 {
			missing = fmt.Errorf("%w; there are %s", missing, strings.Join(names, ", "))
		}
		return nil, missing
	}
	from, to := all[n].start, all[n].end
	switch {
	case len(all) == 1:
		from, to = 1, len(top[i].value)-1 // between the braces
	case n == len(all)-1:
		from = all[n-1].end
	default:
		to = all[n+1].start
	}
	at := top[i].at
	return slices.Concat(data[:at+from], data[at+to:]), nil
}

// configMembers are the keys of the whole file.
func configMembers(data []byte) ([]member, error) {
	d := &document{}
	var top []member
	d.read(data, func(_ *document, raw json.RawMessage) {
		var err error
		if top, err = members(data); err != nil {
			d.wrong("", "the file must be an object, not %s", kindOf(raw))
		}
	})
	if len(d.errs) > 0 {
		return nil, errors.New(strings.TrimPrefix(d.err().Error(), ": "))
	}
	return top, nil
}

// marshal writes a value with two spaces for each level.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("writing a server: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// put puts a member into an object that lies in data at that place: instead of the member of that number, or with -1
// behind the last one, written as that one is.
func put(data, object []byte, at, number int, key string, value []byte) ([]byte, error) {
	all, err := members(object)
	if err != nil {
		return nil, err
	}
	if number >= 0 {
		m := all[number]
		value = indented(value, indentOf(data, at+m.start), data)
		return slices.Concat(data[:at+m.at], value, data[at+m.end:]), nil
	}
	name, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		open := at + bytes.IndexByte(object, '{')
		outer := indentOf(data, open)
		inner := outer + unitOf(outer)
		gap := lineEnd(data) + inner
		member := slices.Concat(name, []byte(": "), indented(value, inner, data))
		end := open + 1 + bytes.IndexByte(data[open+1:], '}')
		return slices.Concat(data[:open+1], []byte(gap), member, []byte(lineEnd(data)+outer), data[end:]), nil
	}
	last := all[len(all)-1]
	before := 1 + bytes.IndexByte(object, '{') // where the gap before the last member begins
	if len(all) > 1 {
		before = all[len(all)-2].end
		before += 1 + bytes.IndexByte(object[before:], ',')
	}
	gap := object[before:last.start]
	var member []byte
	if bytes.ContainsRune(gap, '\n') {
		indent := indentOf(data, at+last.start)
		gap = []byte(lineEnd(data) + indent)
		member = slices.Concat(name, []byte(": "), indented(value, indent, data))
	} else { // all on one line
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil {
			return nil, err
		}
		member = slices.Concat(name, []byte(": "), b.Bytes())
	}
	return slices.Concat(data[:at+last.end], []byte(","), gap, member, data[at+last.end:]), nil
}

// indentOf is what the line begins with that holds that place.
func indentOf(data []byte, at int) string {
	line := data[bytes.LastIndexByte(data[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unitOf is one level more of an indentation.
func unitOf(indent string) string {
	if strings.HasPrefix(indent, "\t") {
		return "\t"
	}
	return "  "
}

func lineEnd(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indented is a value whose first line is indented so, with the lines of the file that it goes into.
func indented(value []byte, indent string, data []byte) []byte {
	unit := unitOf(indent)
	lines := strings.Split(string(value), "\n")
	for i, line := range lines[1:] {
		bare := strings.TrimLeft(line, " ")
		lines[i+1] = indent + strings.Repeat(unit, (len(line)-len(bare))/2) + bare
	}
	return []byte(strings.Join(lines, lineEnd(data)))
}
