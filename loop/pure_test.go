package loop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCoreIsPure holds the core to its word: it may compute and nothing else. What it may import is listed, so that a
// package nobody thought of cannot slip in.
func TestCoreIsPure(t *testing.T) {
	t.Parallel()
	shell := []string{"ports.go", "run.go"}
	harmless := []string{
		"bytes", "cmp", "encoding/binary", "encoding/json", "errors", "fmt", "hash/fnv", "iter", "maps", "slices", "strconv", "strings",
		"unicode", "unicode/utf8",
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var core []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(shell, name) {
			continue
		}
		core = append(core, name)
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, imp := range file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			require.NoError(t, err)
			assert.Contains(t, harmless, path, "%s imports %s, which the core may not", name, path)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt, *ast.ChanType:
				assert.Failf(t, "the core has no goroutines and no channels", "%s: %T", name, n)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "fmt" {
					assert.NotContains(t, []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}, n.Sel.Name,
						"%s talks to the terminal", name)
				}
			}
			return true
		})
	}
	for _, name := range []string{
		"block.go", "calls.go", "codec.go", "doc.go", "effect.go", "event.go", "input.go", "message.go", "rules.go", "state.go", "step.go",
	} {
		assert.Contains(t, core, name)
	}
}
