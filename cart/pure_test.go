package cart

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Everything but the shells is pure: it can name no clock, no randomness, no file, no network and no goroutine.
func TestCoreIsPure(t *testing.T) {
	t.Parallel()
	shells := []string{"book.go", "database.go", "file.go", "headers.go", "http.go", "menufile.go", "rate.go", "rows.go", "stdio.go", "tokens.go"}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	core := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || slices.Contains(shells, name) {
			continue
		}
		core++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			assert.Contains(t, []string{"bytes", "cmp", "encoding/json", "fmt", "iter", "maps", "math", "slices", "strconv", "strings", "time", "unicode/utf8"}, path, name)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				assert.Fail(t, "a goroutine", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" {
					assert.Contains(t, []string{"Duration", "Minute", "Hour", "Millisecond"}, n.Sel.Name, fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	assert.Greater(t, core, 10)
}
