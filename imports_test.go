package cartagent_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/cartagent/cartagent"

// allowed says what each package may import beside the standard library: packages of ours by their folder, others by
// the beginning of their path. A package that is not listed may not exist.
func allowed() map[string][]string {
	jsonSchema := "github.com/google/jsonschema-go"
	logger := "github.com/charmbracelet/log"
	return map[string][]string{
		"":          {},
		"acp":       {"github.com/sourcegraph/jsonrpc2", logger},
		"loop":      {},
		"agent":     {"acp", "loop", logger},
		"tools":     {"loop", jsonSchema, "github.com/bmatcuk/doublestar", "mvdan.cc/sh/v3", "golang.org/x/sys"},
		"skills":    {"loop", "go.yaml.in/yaml"},
		"mcpclient": {"loop", logger, jsonSchema, "github.com/modelcontextprotocol/go-sdk", "golang.org/x/sys"},
		"mcpclient/oauth": {
			logger, "github.com/modelcontextprotocol/go-sdk", "golang.org/x/oauth2", "github.com/golang-jwt/jwt/v5", "golang.org/x/sys",
		},
		"llm":                  {"loop", "llm/schema", logger},
		"llm/schema":           {},
		"llm/scripted":         {"loop"},
		"llm/barista":          {"loop"},
		"llm/anthropic":        {"loop", "llm", logger, "github.com/anthropics/anthropic-sdk-go"},
		"llm/openai":           {"loop", "llm", logger, "github.com/openai/openai-go"},
		"llm/internal/llmtest": {"loop", "github.com/stretchr/testify"},
		"session":              {"loop", logger, "golang.org/x/sys"},
		"cart":                 {logger, "modernc.org/sqlite"},
		"internal/transcript":  {"loop", "golang.org/x/tools"},
		"internal/mcptest":     {"github.com/modelcontextprotocol/go-sdk"},
		"cmd/cartagent": {
			"acp", "loop", "agent", "tools", "skills", "mcpclient", "mcpclient/oauth", "llm", "session", "cart", "internal/transcript",
			logger, "github.com/spf13/cobra", "github.com/mattn/go-isatty", "github.com/muesli/termenv", "golang.org/x/sys",
			"github.com/modelcontextprotocol/go-sdk",
		},
		"interop":                    {},
		"interop/conformance-client": {"mcpclient", "mcpclient/oauth", "loop", logger, "github.com/modelcontextprotocol/go-sdk"},
		"bench":                      {},
	}
}

// TestImports holds every package to the dependency rule of AGENTS.md.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	require.NoError(t, err)
	rules := allowed()
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		require.NoError(t, dec.Decode(&p))
		folder := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may, known := rules[folder]
		if !assert.True(t, known, "package %s is not in the table of allowed imports", p.ImportPath) {
			continue
		}
		for _, path := range p.Imports {
			// With a template engine the linker keeps every method of every library: twice the binary, twice the memory.
			assert.NotContains(t, []string{"text/template", "html/template"}, path, "%s", p.ImportPath)
			assert.True(t, mayImport(may, path), "%s imports %s, which the dependency rule does not allow", p.ImportPath, path)
		}
	}
}

func mayImport(may []string, path string) bool {
	own, ours := strings.CutPrefix(path, module+"/")
	if !ours && !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(may, func(m string) bool {
		if ours {
			return own == m || m == "llm" && strings.HasPrefix(own, "llm/")
		}
		return path == m || strings.HasPrefix(path, strings.TrimSuffix(m, "/")+"/")
	})
}
