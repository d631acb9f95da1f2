package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server goes in, and all else stays as it was written.
func TestWithServer(t *testing.T) {
	t.Parallel()
	shop := &serverSpec{Command: "shop", Args: []string{"<a&b>"}}
	for name, c := range map[string]struct{ before, want string }{
		"nothing": {"", "{\n  \"mcpServers\": {\n    \"shop\": {\n      \"command\": \"shop\",\n      \"args\": [\n        \"<a&b>\"\n      ]\n    }\n  }\n}\n"},
		"empty":   {"{}", "{\n  \"mcpServers\": {\n    \"shop\": {\n      \"command\": \"shop\",\n      \"args\": [\n        \"<a&b>\"\n      ]\n    }\n  }\n}"},
		"other keys": {
			"{\n\t\"model\":   \"a/b\",\n\n\t\"models\": {}\n}\n",
			"{\n\t\"model\":   \"a/b\",\n\n\t\"models\": {},\n\t\"mcpServers\": {\n\t\t\"shop\": {\n\t\t\t\"command\": \"shop\",\n\t\t\t\"args\": [\n\t\t\t\t\"<a&b>\"\n\t\t\t]\n\t\t}\n\t}\n}\n",
		},
		"others": {
			"{ \"mcpServers\": {\n    \"z\": { \"command\":\"z\" },\n    \"a\": {}\n  }, \"model\": \"x\" }",
			"{ \"mcpServers\": {\n    \"z\": { \"command\":\"z\" },\n    \"a\": {},\n    \"shop\": {\n      \"command\": \"shop\",\n      \"args\": [\n        \"<a&b>\"\n      ]\n    }\n  }, \"model\": \"x\" }",
		},
		"no others":   {`{"mcpServers": {}}`, "{\"mcpServers\": {\n  \"shop\": {\n    \"command\": \"shop\",\n    \"args\": [\n      \"<a&b>\"\n    ]\n  }\n}}"},
		"null":        {`{"mcpServers": null, "model": "x"}`, "{\"mcpServers\": {\n  \"shop\": {\n    \"command\": \"shop\",\n    \"args\": [\n      \"<a&b>\"\n    ]\n  }\n}, \"model\": \"x\"}"},
		"on one line": {`{"mcpServers":{"a":{"command":"}\","}}}`, `{"mcpServers":{"a":{"command":"}\","},"shop": {"command":"shop","args":["<a&b>"]}}}`},
		"windows":     {"{\r\n  \"model\": \"x\"\r\n}\r\n", "{\r\n  \"model\": \"x\",\r\n  \"mcpServers\": {\r\n    \"shop\": {\r\n      \"command\": \"shop\",\r\n      \"args\": [\r\n        \"<a&b>\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n"},
		"replaced":    {`{"mcpServers": {"shop" : {"url": "u"} , "b": {}}}`, "{\"mcpServers\": {\"shop\" : {\n  \"command\": \"shop\",\n  \"args\": [\n    \"<a&b>\"\n  ]\n} , \"b\": {}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := withServer([]byte(c.before), "shop", shop, name == "replaced")
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
			var back struct {
				MCP map[string]serverSpec `json:"mcpServers"`
			}
			require.NoError(t, json.Unmarshal(got, &back))
			assert.Equal(t, *shop, back.MCP["shop"])
		})
	}
}

func TestWithoutServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, want string }{
		"the only one": {"{\n  \"mcpServers\": {\n    \"b\": {}\n  }, \"model\" : 1\n}", "{\n  \"mcpServers\": {}, \"model\" : 1\n}"},
		"the first":    {"{\"mcpServers\": {\n  \"b\": {\"args\": [1]},\n  \"a\" : {}\n}}", "{\"mcpServers\": {\n  \"a\" : {}\n}}"},
		"in between":   {`{"mcpServers": {"c": 1,  "b": {"x": "}"},   "a": {}}}`, `{"mcpServers": {"c": 1,  "a": {}}}`},
		"the last":     {"{\"mcpServers\": {\n  \"a\": {},\n  \"b\": {}\n}}", "{\"mcpServers\": {\n  \"a\": {}\n}}"},
		"by its escape": {
			`{"mcpServers": {"a": {}, "\u0062": {}}}`, `{"mcpServers": {"a": {}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := withoutServer([]byte(c.before), "b")
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
			assert.True(t, json.Valid(got))
		})
	}
}

func TestEditsThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"mcpServers": {"b": {}}}`: "there is a server b already; --force replaces it",
		`{"mcpServers": []}`:        "mcpServers: must be an object, not a list",
		`[]`:                        "the file must be an object, not a list",
		`{"model": `:                "it is not valid JSON: it ends too early",
		`{} {}`:                     "there is more than one JSON value in it",
		"{\"model\": 'x'}":          "it is not valid JSON at byte 11",
	} {
		_, err := withServer([]byte(text), "b", &serverSpec{Command: "x"}, false)
		require.ErrorContains(t, err, want, text)
	}
	for text, want := range map[string]string{
		"":                                     "there is no server b in it",
		`{}`:                                   "there is no server b in it",
		`{"mcpServers": null}`:                 "there is no server b in it",
		`{"mcpServers": {"a": {}, "c d": {}}}`: `there is no server b in it; there are a, "c d"`,
		`{"mcpServers": 5}`:                    "mcpServers: must be an object, not a number",
	} {
		_, err := withoutServer([]byte(text), "b")
		require.ErrorContains(t, err, want, text)
	}
}

// Several at once each find what the others wrote.
func TestEditsAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "config")
	c := console{err: &strings.Builder{}, env: func(name string) string { return map[string]string{"CARTAGENT_CONFIG_DIR": dir}[name] }}
	const many = 20
	var group sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		group.Go(func() {
			_, errs[i] = changeConfig(t.Context(), c, func(data []byte) ([]byte, error) {
				return withServer(data, fmt.Sprintf("s%d", i), &serverSpec{Command: "x"}, false)
			})
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	cfg, err := loadConfig(c.env, flags{})
	require.NoError(t, err)
	assert.Len(t, cfg.MCP, many)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "the file and its lock")
}

func TestWhatAddTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    addFlags
		args []string
		dash int
		want string
	}{
		"nothing":           {addFlags{}, []string{"a"}, -1, "what is a? Give it a URL, or a command"},
		"nothing behind it": {addFlags{}, []string{"a"}, 1, "there is no command behind the --"},
		"no name":           {addFlags{}, []string{"x", "y"}, 0, "the NAME comes first"},
		"no dashes":         {addFlags{}, []string{"a", "npx", "x y"}, -1, `npx is no URL; a command goes behind --: cartagent mcp add a -- npx "x y"`},
		"both":              {addFlags{}, []string{"a", "https://b/c", "x"}, 2, "before the -- there must be the NAME only"},
		"a name":            {addFlags{}, []string{"a/b", "x"}, 1, `"a/b": a server's name has`},
		"no value":          {addFlags{env: []string{"s3cret"}}, []string{"a", "x"}, 1, `--env takes a name and a value with "=" in between`},
		"an odd name":       {addFlags{env: []string{"A B=s3cret"}}, []string{"a", "x"}, 1, `--env: "A B" is no name`},
		"twice":             {addFlags{env: []string{"A=s3cret", "A=s3cret"}}, []string{"a", "x"}, 1, "--env: A is there twice"},
		"no header":         {addFlags{headers: []string{"s3cret"}}, []string{"a", "https://b/c"}, -1, `--header takes a name and a value with ":" in between`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.f.spec(c.args, c.dash)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "s3cret")
		})
	}
	got, err := addFlags{headers: []string{"A: b: c", "D:e"}, kind: "sse", trusted: true}.spec([]string{"far", "https://b/c"}, -1)
	require.NoError(t, err)
	assert.Equal(t, &serverSpec{Type: "sse", URL: "https://b/c", Headers: map[string]string{"A": "b: c", "D": "e"}, Trusted: true}, got)
}
