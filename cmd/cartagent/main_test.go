package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be cartagent: scripts and tests find it on the PATH under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"cartagent": func() { perform(patient()) }, "cartagent-hasty": func() { perform(hasty()) },
		"cartagent-faulty": faulty, "cartagent-asks": curious,
	})
}

// patient is what a command reads and writes where it may take its time: a machine that is busy with other tests, or the
// race detector, can make an MCP server slower than a person would wait.
func patient() console {
	return console{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, patience: time.Minute}
}

// hasty is for tests of servers that do not come.
func hasty() console {
	c := patient()
	c.patience = 50 * time.Millisecond
	return c
}

// binary is the path of cartagent, as tests that need a process start it.
func binary(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("cartagent")
	require.NoError(t, err)
	return path
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("CARTAGENT_STATE_DIR", env.WorkDir+"/state")
			env.Setenv("CARTAGENT_CONFIG_DIR", env.WorkDir+"/config")
			return nil
		},
	})
}
