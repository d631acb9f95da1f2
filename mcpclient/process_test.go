//go:build unix

package mcpclient

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEndlessStderr: a server that writes on and on there without the end of a line costs no memory, and what it says
// afterwards is heard.
func TestEndlessStderr(t *testing.T) { // not parallel: it measures the memory of the whole process
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer closeAll(r, w)
	o, logs := logged()
	p := &process{name: "shop", log: o.Log, conceal: Server{}.Conceal, stderr: r, heard: make(chan struct{})}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go p.readStderr()
	const size = 64
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range size {
		_, err := w.Write(block)
		require.NoError(t, err)
	}
	_, err = w.WriteString("\nout of milk\nthe end")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	<-p.heard
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "of %d MiB", size)
	assert.Equal(t, []string{strings.Repeat("x", tailWidth) + "…", "out of milk", "the end"}, p.tail)
	assert.Equal(t, 3, strings.Count(logs.String(), "server stderr"))
}

// What a server says on stderr goes to our log without its secrets.
func TestStderrIsLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	o, logs := logged()
	const secret = "planted-variable-0123456789"
	s := Server{
		Name: "shop", Command: "sh", Args: []string{"-c", `echo "the key is $KEY, it says" >&2`},
		Env: map[string]string{"KEY": secret}, Secrets: []string{secret},
	}
	p, err := start(t.Context(), s, o.withDefaults())
	require.NoError(t, err)
	<-p.heard
	p.stop()
	assert.Contains(t, logs.String(), "the key is …, it says")
	assert.NotContains(t, logs.String(), secret)
}
