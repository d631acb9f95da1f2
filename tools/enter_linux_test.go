package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// A folder that gives way to a link out of the workspace after the command was shown is not followed: by the time of the
// run it is refused, and once it is open the command begins in the folder that was opened.
func TestACommandRunsWhereItWasShown(t *testing.T) {
	t.Parallel()
	swapped := func(t *testing.T) (b *bench, swap func(), outside string) {
		t.Helper()
		b = setUp(t, map[string]string{"sub/here": ""})
		outside = t.TempDir()
		sub := filepath.Join(b.dir, "sub")
		return b, func() {
			require.NoError(t, os.Rename(sub, sub+".was"))
			require.NoError(t, os.Symlink(outside, sub))
		}, outside
	}

	t.Run("before it runs", func(t *testing.T) {
		t.Parallel()
		b, swap, outside := swapped(t)
		tool, c := b.tool("terminal"), callOf(t, "terminal", m{"command": "touch made", "cwd": "sub"})
		p, err := tool.Preview(t.Context(), c)
		require.NoError(t, err)
		swap()
		_, err = tool.Run(t.Context(), loop.Job{Call: c, Preview: p}, func(loop.Block) {})
		require.ErrorIs(t, err, ErrOutside)
		assert.NoFileExists(t, filepath.Join(outside, "made"))
	})

	t.Run("as it starts", func(t *testing.T) {
		t.Parallel()
		b, swap, outside := swapped(t)
		at, err := b.ws.locate("sub")
		require.NoError(t, err)
		dir, err := at.openDir()
		require.NoError(t, err)
		defer dir.Close() //nolint:errcheck // it is only entered
		swap()
		cmd := exec.CommandContext(t.Context(), "touch", "made")
		cmd.Dir = enterable(dir, at)
		require.NoError(t, cmd.Run())
		assert.NoFileExists(t, filepath.Join(outside, "made"))
		assert.FileExists(t, filepath.Join(b.dir, "sub.was", "made"))
	})
}
