package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCredentialsInForce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, stored, want credentials }{
		"nothing":               {},
		"the environment's":     {credentials{key: "e", baseURL: "u"}, credentials{}, credentials{key: "e", baseURL: "u"}},
		"both":                  {credentials{key: "e"}, credentials{key: "s", baseURL: "su"}, credentials{key: "e"}},
		"stored":                {credentials{}, credentials{key: "s", baseURL: "su"}, credentials{key: "s", baseURL: "su", stored: true}},
		"stored, and address":   {credentials{baseURL: "u"}, credentials{key: "s", baseURL: "su"}, credentials{key: "s", baseURL: "u", stored: true}},
		"an address needs none": {credentials{baseURL: "u"}, credentials{}, credentials{baseURL: "u"}},
		"no key is no entry":    {credentials{}, credentials{baseURL: "su"}, credentials{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := inForce(map[string]credentials{"openai": c.env}, map[string]credentials{"openai": c.stored})
			assert.Equal(t, map[string]credentials{"openai": c.want}, got)
		})
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// The file is its owner's alone, keeps what it does not know, and is replaced as a whole.
func TestCredentialsFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "config")
	f := keyFileIn(dir)
	keys, note, err := f.read()
	require.NoError(t, err)
	assert.Empty(t, note)
	assert.Empty(t, keys)

	require.NoError(t, f.store("openai", credentials{key: "k1", baseURL: "http://a"}))
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o700), mode(t, dir))
		assert.Equal(t, os.FileMode(0o600), mode(t, f.path))
	}
	require.NoError(t, os.WriteFile(f.path, []byte("\ufeff"+
		`{"later":{"key":"k"},"version":2,"openai":{"key":"k1","baseUrl":"http://a","org":["o"]},"anthropic":null}`), 0o600))
	require.NoError(t, f.store("openai", credentials{key: "k2"}))
	require.NoError(t, f.store("anthropic", credentials{key: "k3", baseURL: "http://b"}))
	data, err := os.ReadFile(f.path)
	require.NoError(t, err)
	assert.JSONEq(t, `{"later":{"key":"k"},"version":2,"openai":{"key":"k2","org":["o"]},"anthropic":{"key":"k3","baseUrl":"http://b"}}`, string(data))
	keys, _, err = f.read()
	require.NoError(t, err)
	assert.Equal(t, map[string]credentials{"openai": {key: "k2"}, "anthropic": {key: "k3", baseURL: "http://b"}}, keys)

	had, err := f.forget("openai")
	require.NoError(t, err)
	assert.True(t, had)
	data, err = os.ReadFile(f.path)
	require.NoError(t, err)
	assert.JSONEq(t, `{"later":{"key":"k"},"version":2,"anthropic":{"key":"k3","baseUrl":"http://b"}}`, string(data))
	require.NoError(t, os.WriteFile(f.path+".123.tmp", []byte("what a crash left"), 0o600))
	had, err = f.forget("")
	require.NoError(t, err)
	assert.True(t, had)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	require.NoError(t, f.store("openai", credentials{key: "k"}))
	had, err = f.forget("openai")
	require.NoError(t, err)
	assert.True(t, had)
	assert.NoFileExists(t, f.path, "the last key takes the file along")
	_, err = keyFileIn("").forget("")
	require.NoError(t, err)
}

// A file that others can read is taken from them, with a warning to the person and in the log.
func TestCredentialsModeIsRepaired(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such modes")
	}
	dir := t.TempDir()
	f := keyFileIn(dir)
	for _, args := range [][]string{{"login", "--status"}, {"login", "--provider", "openai", "--key-stdin", "--no-check"}} {
		require.NoError(t, os.WriteFile(f.path, []byte(`{"openai":{"key":"`+plantedKey+`"}}`), 0o600))
		require.NoError(t, os.Chmod(f.path, 0o644))
		code, _, stderr := command(t, map[string]string{"CARTAGENT_CONFIG_DIR": dir}, plantedKey, args...)
		require.Equal(t, exitOK, code, stderr)
		assert.Contains(t, stderr, "others could read "+f.path+" (mode 644); its mode is 600 now")
		assert.Equal(t, os.FileMode(0o600), mode(t, f.path))
	}
	require.NoError(t, os.Chmod(f.path, 0o640))
	p, logs := testProgram(t, map[string]string{"CARTAGENT_CONFIG_DIR": dir})
	assert.Contains(t, logs.String(), "(mode 640)")
	require.NoError(t, os.Chmod(f.path, 0o604))
	assert.Equal(t, plantedKey, p.models.ring.now()["openai"].key)
	assert.Contains(t, logs.String(), "(mode 604)")
	assert.Equal(t, os.FileMode(0o600), mode(t, f.path))
}

// A link stays one, and what it points to is what is written and forgotten.
func TestCredentialsBehindALink(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "keys.json")
	f := keyFileIn(dir)
	require.NoError(t, os.WriteFile(elsewhere, []byte("{}"), 0o600))
	if err := os.Symlink(elsewhere, f.path); err != nil {
		t.Skip("no links here: ", err)
	}
	require.NoError(t, f.store("openai", credentials{key: "k"}))
	data, err := os.ReadFile(elsewhere)
	require.NoError(t, err)
	assert.JSONEq(t, `{"openai":{"key":"k"}}`, string(data))
	_, err = f.forget("")
	require.NoError(t, err)
	assert.NoFileExists(t, elsewhere)
}

// A file that cannot be used is named, with what to do; nothing of it is shown, and nothing is lost.
func TestCredentialsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"no JSON":     {`{"openai": {"key": ` + plantedKey + `}}`, "it is not valid JSON at byte 20"},
		"cut":         {`{"openai": {"key": "` + plantedKey, "it is not valid JSON at byte"},
		"empty":       {"", "it is not valid JSON at byte 0"},
		"two values":  {`{} "` + plantedKey + `"`, "it is not valid JSON at byte 4"},
		"a list":      {`["` + plantedKey + `"]`, "it must be one JSON object, by provider"},
		"a string":    {`{"openai": "` + plantedKey + `"}`, "openai must be an object with a key"},
		"a number":    {`{"anthropic": {"key": 4815162342}}`, "anthropic.key must be a string"},
		"an address":  {`{"openai": {"key": "` + plantedKey + `", "baseUrl": {}}}`, "openai.baseUrl must be a string"},
		"much of it":  {`{"openai": {"key": "` + strings.Repeat("k", 1<<20) + `"}}`, "it is larger than 1 MiB"},
		"not a file ": {"folder", "it is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, keyFileName)
			if c.content == "folder" {
				require.NoError(t, os.Mkdir(path, 0o700))
			} else {
				require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			}
			env := map[string]string{"CARTAGENT_CONFIG_DIR": dir}
			for _, args := range [][]string{
				{"run", "hi"},
				{"acp"},
				{"login", "--status"},
				{"login", "--provider", "anthropic", "--key-stdin", "--no-check"},
			} {
				code, stdout, stderr := command(t, env, plantedKey, args...)
				assert.Equal(t, exitUsage, code, args)
				assert.Contains(t, stderr, path+": "+c.want)
				assert.Contains(t, stderr, "run `cartagent login`")
				for _, secret := range []string{"planted", "4815162342", "kkkk"} {
					assert.NotContains(t, stdout+stderr, secret)
				}
			}
			if c.content != "folder" {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, c.content, string(data), "it is left as it was")
				code, _, stderr := command(t, env, "", "logout")
				assert.Equal(t, exitOK, code, stderr)
				assert.NoFileExists(t, path)
			}
		})
	}
}
