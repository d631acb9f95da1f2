package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cartagent/cartagent/mcpclient"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// configured reads text as config.json, with those variables.
func configured(t *testing.T, text string, vars map[string]string) (*config, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, configName), []byte(text), 0o600))
	return loadConfig(func(name string) string {
		if name == "CARTAGENT_CONFIG_DIR" {
			return dir
		}
		return vars[name]
	}, flags{})
}

func TestServersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"TOKEN": "t0ken", "HOST": "example.com", "EMPTY": ""}
	for name, c := range map[string]struct {
		entry string
		want  mcpclient.Server
	}{
		"a command": {`{"command": "shop"}`, mcpclient.Server{Command: "shop", Dir: "/w"}},
		"everything of a command": {
			`{"type": "stdio", "command": "${HOST}/shop", "args": ["--at", "${HOST}:1"], "env": {"A": "${TOKEN}", "B": "b"}, "timeout": "90s",
			 "ceiling": "30m", "trusted": true, "tools": {"allow": ["a*"], "deny": ["ab"]}}`,
			mcpclient.Server{
				Command: "example.com/shop", Args: []string{"--at", "example.com:1"}, Env: map[string]string{"A": "t0ken", "B": "b"}, Dir: "/w",
				Timeout: 90 * time.Second, Ceiling: 30 * time.Minute, Trusted: true, Allow: []string{"a*"}, Deny: []string{"ab"},
			},
		},
		"an address": {`{"url": "https://${HOST}/mcp"}`, mcpclient.Server{URL: "https://example.com/mcp", Dir: "/w"}},
		"an address with headers": {
			`{"type": "http", "url": "http://127.0.0.1:8080/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}`,
			mcpclient.Server{
				Type: "http", URL: "http://127.0.0.1:8080/mcp", Headers: map[string]string{"Authorization": "Bearer t0ken"}, Dir: "/w",
			},
		},
		"as others write it": {`{"type": "streamable-http", "url": "https://a/b"}`, mcpclient.Server{Type: "http", URL: "https://a/b", Dir: "/w"}},
		"the older way":      {`{"type": "sse", "url": "https://a/b"}`, mcpclient.Server{Type: "sse", URL: "https://a/b", Dir: "/w"}},
		"defaults": {
			`{"command": "x", "args": ["${NONE:-d e}", "${EMPTY:-f}", "${NONE:-}", "${TOKEN:-not}", "a${TOKEN}b${HOST}"]}`,
			mcpclient.Server{Command: "x", Args: []string{"d e", "f", "", "t0ken", "at0kenbexample.com"}, Dir: "/w"},
		},
		"what is no reference": {
			`{"command": "sh", "args": ["-c", "echo $TOKEN $${TOKEN} ${1#x} $(date) ${"]}`,
			mcpclient.Server{Command: "sh", Args: []string{"-c", "echo $TOKEN ${TOKEN} ${1#x} $(date) ${"}, Dir: "/w"},
		},
		"nulls": {`{"command": "x", "args": null, "env": null, "url": null, "tools": null}`, mcpclient.Server{Command: "x", Dir: "/w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := configured(t, `{"mcpServers": {"tea house": `+c.entry+`}}`, vars)
			require.NoError(t, err)
			spec := cfg.MCP["tea house"]
			c.want.Name = "tea house"
			got := spec.server("tea house", "/w")
			assert.Equal(t, spec.hidden, got.Secrets)
			got.Secrets = nil
			assert.Equal(t, c.want, got)
		})
	}
}

func TestWhatIsWrongWithAServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ entry, want string }{
		"neither":              {`{}`, `: it has no command and no url`},
		"both":                 {`{"command": "x", "url": "https://a/b"}`, `: it has a command and a url`},
		"no object":            {`["x"]`, `: must be an object, not a list`},
		"nothing":              {`null`, `: must be an object, not null`},
		"an unknown key":       {`{"comand": "x"}`, `: the key "comand" is not known (did you mean "command"?)`},
		"by its case":          {`{"Command": "x"}`, `: the key "Command" is not known (did you mean "command"?)`},
		"an unknown key below": {`{"command": "x", "tools": {"alow": []}}`, `.tools: the key "alow" is not known (did you mean "allow"?)`},
		"twice":                {`{"command": "x", "command": "y"}`, `: the key "command" is there twice`},
		"a number":             {`{"command": "x", "timeout": 5}`, `.timeout: must be a string, not a number; put it in quotes`},
		"no duration":          {`{"command": "x", "timeout": "soon"}`, `.timeout: "soon" is no time to wait`},
		"no time":              {`{"command": "x", "timeout": "0s"}`, `.timeout: "0s" is no time to wait`},
		"no ceiling":           {`{"command": "x", "ceiling": "-1m"}`, `.ceiling: "-1m" is no time to wait: use a duration such as 30m`},
		"a low ceiling":        {`{"command": "x", "timeout": "5m", "ceiling": "4m"}`, `.ceiling: "4m" is less than the timeout, 5m: make it longer, or leave it out`},
		"a lower ceiling yet":  {`{"command": "x", "ceiling": "59s"}`, `.ceiling: "59s" is less than the timeout, 60s where none is set: make it longer`},
		"an argument":          {`{"command": "x", "args": ["a", 1]}`, `.args[1]: must be a string, not a number`},
		"a string of args":     {`{"command": "x", "args": "a b"}`, `.args: must be a list, not a string`},
		"a variable's value":   {`{"command": "x", "env": {"PORT": 80}}`, `.env.PORT: must be a string, not a number; put it in quotes`},
		"a variable's name":    {`{"command": "x", "env": {"A=B": "c"}}`, `.env."A=B": that is no name of a variable`},
		"trust":                {`{"command": "x", "trusted": "yes"}`, `.trusted: must be true or false, not a string`},
		"a pattern":            {`{"command": "x", "tools": {"deny": ["a", "[a"]}}`, `.tools.deny[1]: "[a" is no name of a tool`},
		"a type":               {`{"type": "websocket", "url": "https://a/b"}`, `.type: "websocket" is not known: use http`},
		"a type of a command":  {`{"type": "sse", "command": "x"}`, `.type: "sse" does not go with a command`},
		"a type of an address": {`{"type": "stdio", "url": "https://a/b"}`, `.type: "stdio" does not go with a url`},
		"headers":              {`{"command": "x", "headers": {"A": "b"}}`, `.headers: a server with a command gets no headers`},
		"env":                  {`{"url": "https://a/b", "env": {"A": "b"}}`, `.env: it goes with a command`},
		"args":                 {`{"url": "https://a/b", "args": ["b"]}`, `.args: it goes with a command`},
		"an address":           {`{"url": "a/b"}`, `.url: it must be an address such as`},
		"another scheme":       {`{"url": "file:///etc/passwd"}`, `.url: it must be an address such as`},
		"a password":           {`{"url": "https://me:s3cret@a/b"}`, `.url: it must not have a name and a password in it`},
		"a built address":      {`{"url": "${HOME_OF_IT:-nowhere}/b"}`, `.url: it must be an address such as`},
		"a header's name":      {`{"url": "https://a/b", "headers": {"A B": "c"}}`, `.headers.A B: that is no name of a header`},
		"a header's value":     {`{"url": "https://a/b", "headers": {"A": "c\nD: e"}}`, `.headers.A: its value has a character in it`},
		"an unset variable":    {`{"command": "x", "args": ["a", "${NOT_THERE}"]}`, `.args[1]: the variable NOT_THERE is not set, or empty; set it, or write ${NOT_THERE:-DEFAULT}`},
		"a provider's key":     {`{"command": "x", "env": {"K": "${ANTHROPIC_API_KEY}"}}`, `.env.K: ANTHROPIC_API_KEY is the key of a model provider`},
		"with a default":       {`{"command": "x", "args": ["${GEMINI_API_KEY:-a}"]}`, `.args[0]: GEMINI_API_KEY is the key of a model provider`},
		"in a header":          {`{"url": "https://a/b", "headers": {"K": "x${OPENAI_API_KEY}"}}`, `.headers.K: OPENAI_API_KEY is the key of a model provider`},
		"in an address":        {`{"url": "https://a/b?k=${OPENAI_API_KEY}"}`, `.url: OPENAI_API_KEY is the key of a model provider`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := configured(t, `{"mcpServers": {"shop": `+c.entry+`}}`, map[string]string{
				"ANTHROPIC_API_KEY": "planted-a", "OPENAI_API_KEY": "planted-o", "GEMINI_API_KEY": "planted-g",
			})
			require.ErrorContains(t, err, configName+": mcpServers.shop"+c.want)
			assert.NotContains(t, err.Error(), "planted")
			assert.NotContains(t, err.Error(), "s3cret")
		})
	}
}

// Everything that is wrong is said at once, each with the path of its entry.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := configured(t, `{"modle": "x", "model": "nobody/x", "models": {"openai/x": {"windw": 1}}, "permissions": [{"tool": "x", "verdct": "deny"}, {"verdict": "perhaps"}],
		"mcpServers": {"a": {"timeout": 3}, "b/c": {"command": "x", "trustd": true}, " ": {"command": "x"},
			"d": {"command": "${NOT_HERE}"}, "e": {"url": "https://a/${NOR_HERE}"}}}`, nil)
	require.Error(t, err)
	for _, want := range []string{
		`config.json: the key "modle" is not known (did you mean "model"?)`,
		`there is no provider "nobody"`,
		`models."openai/x": the key "windw" is not known (did you mean "window"?)`,
		`permissions[0]: the key "verdct" is not known (did you mean "verdict"?)`,
		`permissions[1]: verdict "perhaps": use allow, ask or deny`,
		`mcpServers.a.timeout: must be a string, not a number`,
		`mcpServers."b/c": a server's name has 1 to 64 letters`,
		`mcpServers."b/c": the key "trustd" is not known (did you mean "trusted"?)`,
		`mcpServers." ": a server's name`,
		`mcpServers.d.command: the variable NOT_HERE is not set`,
		`mcpServers.e.url: the variable NOR_HERE is not set`,
	} {
		assert.Contains(t, err.Error(), want)
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "it is empty",
		" ":                     "it is empty",
		"{":                     "it ends too early",
		`{"model": }`:           "it is not valid JSON at byte 11",
		`{} {}`:                 "there is more than one JSON value in it",
		`{} x`:                  "there is more than one JSON value in it",
		`[]`:                    "must be an object, not a list",
		`{"mcpServers": []}`:    "mcpServers: must be an object, not a list",
		`{"permissions": {}}`:   "permissions: must be a list, not an object",
		`{"model": 5}`:          "model: must be a string, not a number",
		`{"a": 1, "mcpServers`:  "it ends too early",
		"{\"model\": \"a\nb\"}": "it is not valid JSON at byte",
	} {
		_, err := configured(t, text, nil)
		require.ErrorContains(t, err, want, text)
	}
	_, err := configured(t, "\ufeff{}", nil)
	require.NoError(t, err, "some editors put a mark before the text")
}

func TestServerNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "shop", "Tea House", "a.b-c_d", "日本", "7", strings.Repeat("x", 64)} {
		require.NoError(t, checkServerName(good), good)
	}
	for _, bad := range []string{"", " a", "a ", "-a", ".a", "a/b", "a:b", "a\nb", "a|b", "a\u202eb", strings.Repeat("x", 65)} {
		require.Error(t, checkServerName(bad), bad)
	}
}

// What was put in for a variable, and what a server is told in secret, is not shown.
func TestConceal(t *testing.T) {
	t.Parallel()
	cfg, err := configured(t, `{"mcpServers": {"a": {"url": "https://h/${KEY}", "headers": {"A": "Bearer literal", "B": "1"}}}}`, map[string]string{"KEY": "k3y!"})
	require.NoError(t, err)
	spec := cfg.MCP["a"]
	assert.Equal(t, "…, 1, https://h/…: refused", spec.conceal("Bearer literal, 1, https://h/k3y!: refused"))
}
