package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// entry is the folder that goes into the ACP registry as it is; there, a folder is named by the agent's id.
const entry = "../docs/registry/cartagent"

// TestRegistryEntry holds agent.json to the rules of the registry and of the editors that install from it.
func TestRegistryEntry(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(entry, "agent.json"))
	require.NoError(t, err)
	var e struct {
		ID           string   `json:"id"`
		Name         string   `json:"name"`
		Version      string   `json:"version"`
		Description  string   `json:"description"`
		Repository   string   `json:"repository"`
		Authors      []string `json:"authors"`
		License      string   `json:"license"`
		Distribution struct {
			Binary map[string]struct {
				Archive string   `json:"archive"`
				Command string   `json:"cmd"`
				Args    []string `json:"args"`
			} `json:"binary"`
		} `json:"distribution"`
	}
	strict := json.NewDecoder(strings.NewReader(string(raw)))
	strict.DisallowUnknownFields()
	require.NoError(t, strict.Decode(&e))

	assert.Regexp(t, `^[a-z][a-z0-9-]*$`, e.ID)
	assert.Equal(t, filepath.Base(entry), e.ID)
	assert.Regexp(t, `^\d+\.\d+\.\d+$`, e.Version)
	assert.NotEmpty(t, e.Name)
	assert.NotEmpty(t, e.Description)
	assert.NotEmpty(t, e.Authors)
	assert.NotEmpty(t, e.License)
	assert.True(t, strings.HasPrefix(e.Repository, "https://"))

	targets := []string{}
	for _, system := range []string{"darwin", "linux", "windows"} {
		for _, machine := range []string{"aarch64", "x86_64"} {
			targets = append(targets, system+"-"+machine)
		}
	}
	for target, d := range e.Distribution.Binary {
		assert.Contains(t, targets, target)
		assert.True(t, strings.HasPrefix(d.Archive, "https://"), d.Archive)
		assert.Contains(t, d.Archive, "/v"+e.Version+"/", "the address has the version in it")
		assert.NotContains(t, d.Archive, "latest")
		assert.Regexp(t, `\.(tar\.gz|tgz|tar\.bz2|tbz2|zip)$`, d.Archive)
		assert.True(t, strings.HasPrefix(d.Command, "./") && !strings.Contains(d.Command, ".."), d.Command)
		assert.Equal(t, []string{"acp"}, d.Args)
	}
	assert.Len(t, e.Distribution.Binary, len(targets))
}

// TestRegistryVersion sees that the entry is of the version that this tree builds.
func TestRegistryVersion(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(entry, "agent.json"))
	require.NoError(t, err)
	var e struct{ Version string }
	require.NoError(t, json.Unmarshal(raw, &e))
	out, err := exec.CommandContext(t.Context(), built(t), "version").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), e.Version)
}

// TestRegistryIcon sees that the icon is 16 by 16 and takes its colour from where it stands.
func TestRegistryIcon(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(entry, "icon.svg"))
	require.NoError(t, err)
	var coloured bool
	for d, depth := xml.NewDecoder(strings.NewReader(string(raw))), 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range start.Attr {
			attributes[a.Name.Local] = a.Value
		}
		if depth++; depth == 1 {
			assert.Equal(t, "svg", start.Name.Local)
			assert.Equal(t, []string{"16", "16", "0 0 16 16"}, []string{attributes["width"], attributes["height"], attributes["viewBox"]})
		}
		assert.NotContains(t, []string{"style", "image"}, start.Name.Local)
		assert.NotContains(t, attributes, "style")
		for _, name := range []string{"fill", "stroke"} {
			if colour, ok := attributes[name]; ok {
				assert.Contains(t, []string{"currentColor", "none", "inherit"}, colour)
				coloured = coloured || colour == "currentColor"
			}
		}
	}
	assert.True(t, coloured)
}

// TestRegistryHandshake starts the binary as the registry does: with an empty home and a dumb terminal, and nothing to go
// by but initialize. The first line that comes out must be its answer, with a method of type agent or terminal to
// authenticate by, also where nobody is logged in.
func TestRegistryHandshake(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, built(t), "acp")
	ours := regexp.MustCompile(`^(CARTAGENT_|XDG_|HOME=|TERM=|[A-Z]+_API_KEY=|[A-Z]+_BASE_URL=)`)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ours.MatchString), "HOME="+home, "TERM=dumb")
	cmd.Dir = home
	cmd.WaitDelay = patience
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,`+
		`"clientInfo":{"name":"registry","version":"1"},"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},`+
		`"terminal":true,"_meta":{"terminal_output":true,"terminal-auth":true}}}}`+"\n")
	require.NoError(t, err)
	first, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())

	var m struct {
		ID     json.RawMessage `json:"id"`
		Result *initialized    `json:"result"`
	}
	require.NoError(t, json.Unmarshal(first, &m), "%s", first)
	require.NotNil(t, m.Result, "%s", first)
	assert.Equal(t, "1", string(m.ID))
	assert.Equal(t, 1, m.Result.ProtocolVersion)
	if len(m.Result.AuthMethods) == 0 {
		unoffered(t, "authMethods")
	}
	assert.True(t, slices.ContainsFunc(m.Result.AuthMethods, func(a struct{ ID, Type, Name string }) bool {
		return a.Type == "" || a.Type == "agent" || a.Type == "terminal"
	}), "no method of type agent or terminal: %s", first)
}
