package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// scratch is a folder for the whole run, removed at its end.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "interop-")
		if err != nil {
			fmt.Fprintln(os.Stderr, "interop:", err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		scratch = dir
		return m.Run()
	}())
}

var build = sync.OnceValues(func() (string, error) {
	if err := watch(); err != nil {
		return "", err
	}
	if path := os.Getenv("CARTAGENT_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(scratch, "cartagent")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/cartagent").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the binary: %w\n%s", err, out)
	}
	return path, nil
})

// watch looks at every file that the binary is built from and at every driver, so that the test cache knows of them: a
// result is not taken from it when one of them has changed.
func watch() error {
	return filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody edits
			return nil
		case err != nil:
			return fmt.Errorf("looking at the sources: %w", err)
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("looking at the sources: %w", err)
		}
		return nil
	})
}

// built is the binary, as users have it: the one that $CARTAGENT_BINARY names, else one built now.
func built(t *testing.T) string {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	return path
}

// environ is the environment of an agent that takes orders offline, with a home of its own and a pause between words.
func environ(t *testing.T, pace string) []string {
	t.Helper()
	home := t.TempDir()
	return append(os.Environ(),
		"HOME="+home, "CARTAGENT_STATE_DIR="+filepath.Join(home, "state"), "CARTAGENT_CONFIG_DIR="+filepath.Join(home, "config"),
		"CARTAGENT_MODEL=barista/cart", "CARTAGENT_BARISTA_PACE="+pace)
}

// need ends a test that cannot run here: a skip with the reason, but a failure in CI.
func need(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// complete is whether the agent offers all of ACP v1. Until then a check of what it does not advertise is skipped; from
// then on it fails.
const complete = true

// unoffered ends a test of something that the agent does not advertise.
func unoffered(t *testing.T, what string) {
	t.Helper()
	if complete {
		t.Fatalf("the agent does not advertise %s", what)
	}
	t.Skipf("the agent does not advertise %s", what)
}
