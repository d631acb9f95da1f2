package bench_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The binaries are built at most once in a run, into the folder that TestMain keeps.
var (
	folder         string
	buildCartagent = sync.OnceValues(func() (string, error) {
		return build("cartagent", "github.com/cartagent/cartagent/cmd/cartagent")
	})
	buildFloor = sync.OnceValues(func() (string, error) { return build("floor", "./testdata/floor") })
)

func build(name, path string) (string, error) {
	file := filepath.Join(folder, name)
	// As a release is built: static, which starts faster, and without what only a debugger reads.
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", path, err, out)
	}
	return file, nil
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run builds both binaries before the first benchmark; without benchmarks a test builds what it needs.
func run(m *testing.M) (code int, err error) {
	if folder, err = os.MkdirTemp("", "cartagent-bench-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		if _, err := buildCartagent(); err != nil {
			return 1, err
		}
		if _, err := buildFloor(); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// TestFloor holds the floor to what the benchmarks rely on: it streams, reads through the client and keeps its history.
func TestFloor(t *testing.T) {
	t.Parallel()
	binary, err := buildFloor()
	require.NoError(t, err)
	s := startStub(t)
	a := start(t, program{name: "floor", argv: []string{binary}}, newPlace(t, s))
	defer a.stop()
	a.initialize()
	session, _ := a.newSession()
	other, _ := a.newSession()

	a.play(say(3), session)
	first := s.take()
	require.Len(t, first, 1)
	a.play(readFiles(a.place, 2), session)
	rounds := s.take()
	require.Len(t, rounds, 3)
	assert.Greater(t, rounds[0].Total, first[0].Total)
	assert.Greater(t, rounds[2].Total, rounds[1].Total)
	a.play(say(3), other)
	assert.Equal(t, first, s.take())
}
