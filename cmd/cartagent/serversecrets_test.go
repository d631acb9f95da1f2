package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/mcpclient"
)

// What a server is handed under a name that tells is a secret wherever it stands, and makes a secret of the configuration.
func TestSecretsOfServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server string
		secret []string
		keyed  bool
	}{
		"an argument":     {`{"command":"x","args":["--token","planted-one","API_KEY=planted-two"]}`, []string{"planted-one", "planted-two"}, true},
		"an address":      {`{"type":"http","url":"https://h.example/?api_key=planted-one"}`, []string{"planted-one"}, true},
		"a variable":      {`{"command":"x","args":["--token","${PLANTED}"]}`, []string{"planted-three"}, false},
		"nothing of that": {`{"command":"x","args":["--max-tokens","4096","--mode","thorough-one"]}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, configName)
			require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers":{"s":`+c.server+`}}`), 0o600))
			cfg, err := loadConfig(func(name string) string {
				return map[string]string{"CARTAGENT_CONFIG_DIR": dir, "CARTAGENT_STATE_DIR": t.TempDir(), "PLANTED": "planted-three"}[name]
			}, flags{})
			require.NoError(t, err)
			spec := cfg.MCP["s"]
			server := spec.server("s", dir)
			for _, v := range c.secret {
				assert.Contains(t, server.Secrets, v)
			}
			assert.NotContains(t, server.Secrets, "4096")
			assert.NotContains(t, server.Secrets, "thorough-one")
			assert.Equal(t, c.keyed, spec.keyed())
			if c.keyed {
				assert.Contains(t, cfg.secrets(), file)
			} else {
				assert.NotContains(t, cfg.secrets(), file)
			}
		})
	}
	passed := withSecrets(mcpclient.Server{
		Args: []string{"--token=planted-one"}, Env: map[string]string{"A": "planted-two"}, Headers: map[string]string{"B": "planted-three"},
	})
	assert.ElementsMatch(t, []string{"planted-one", "planted-two", "planted-three"}, passed.Secrets)
}
