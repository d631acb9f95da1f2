package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// provider is who serves models to the owner of a key.
type provider struct {
	id, name       string
	keyVar, urlVar string // the variables that hold its key and its address
}

func providers() []provider {
	return []provider{
		{"anthropic", "Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		{"openai", "OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
	}
}

func providerNamed(id string) (provider, bool) {
	for _, p := range providers() {
		if strings.EqualFold(id, p.id) {
			return p, true
		}
	}
	return provider{}, false
}

// credentials are the key for a provider and the address that it is for, empty for the provider's own.
type credentials struct {
	key, baseURL string
	stored       bool // it is the key of the file
}

// envKeys are the keys and addresses of the environment, by provider.
func envKeys(env func(string) string) map[string]credentials {
	keys := make(map[string]credentials)
	for _, p := range providers() {
		keys[p.id] = credentials{key: strings.TrimSpace(env(p.keyVar)), baseURL: env(p.urlVar)}
	}
	return keys
}

// inForce puts the stored keys where the environment has none. The address of the environment holds for both; a stored
// one goes with its key only, so no other key is ever sent there.
func inForce(env, stored map[string]credentials) map[string]credentials {
	keys := make(map[string]credentials, len(env))
	for id, c := range env {
		if s := stored[id]; c.key == "" && s.key != "" {
			s.stored = true
			if c.baseURL != "" {
				s.baseURL = c.baseURL
			}
			c = s
		}
		keys[id] = c
	}
	return keys
}

// keyFile is the file in which keys are stored: {"PROVIDER": {"key": "…", "baseUrl": "…"}}. What it does not know in
// there it keeps. Its errors name the file and never quote it.
type keyFile struct{ path string }

const keyFileName = "credentials.json"

// keyFileIn is the key file of a configuration folder. Without a folder nothing is stored and nothing can be.
func keyFileIn(dir string) keyFile {
	if dir == "" {
		return keyFile{}
	}
	return keyFile{filepath.Join(dir, keyFileName)}
}

// entries are the file as it is.
type entries map[string]json.RawMessage

// read returns the stored keys, by provider. Where others could read the file it takes that from them, and the note
// says so.
func (f keyFile) read() (keys map[string]credentials, note string, err error) {
	all, note, err := f.load()
	if err != nil {
		return nil, "", err
	}
	keys = make(map[string]credentials)
	for _, p := range providers() {
		entry, err := f.entry(all, p.id)
		if err != nil {
			return nil, "", err
		}
		var c credentials
		for name, to := range map[string]*string{"key": &c.key, "baseUrl": &c.baseURL} {
			if raw, ok := entry[name]; ok && json.Unmarshal(raw, to) != nil {
				return nil, "", f.broken(p.id + "." + name + " must be a string")
			}
		}
		c.key = strings.TrimSpace(c.key)
		if c.key != "" {
			keys[p.id] = c
		}
	}
	return keys, note, nil
}

// entry is a provider's part of the file; empty where there is none.
func (f keyFile) entry(all entries, id string) (entries, error) {
	entry := entries{}
	raw, ok := all[id]
	if ok && json.Unmarshal(raw, &entry) != nil {
		return nil, f.broken(id + " must be an object with a key")
	}
	if entry == nil { // null
		entry = entries{}
	}
	return entry, nil
}

func (f keyFile) broken(what string) error {
	return fmt.Errorf("%s: %s; repair it, or delete it and run `cartagent login`", f.path, what)
}

func (f keyFile) load() (all entries, note string, err error) {
	if f.path == "" {
		return nil, "", nil
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the stored keys: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("reading the stored keys: %w", err)
	case !info.Mode().IsRegular():
		return nil, "", f.broken("it is not a file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		if err := file.Chmod(0o600); err != nil {
			return nil, "", fmt.Errorf("%s has keys that others may read, and its mode cannot be changed: run `chmod 600` on it as its owner: %w",
				f.path, err)
		}
		note = fmt.Sprintf("others could read %s (mode %03o); its mode is 600 now, but replace the keys if others use this machine",
			f.path, info.Mode().Perm())
	}
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, "", fmt.Errorf("reading the stored keys: %w", err)
	}
	if len(data) > most {
		return nil, "", f.broken("it is larger than 1 MiB")
	}
	all, err = f.parse([]byte(strings.TrimPrefix(string(data), "\ufeff")))
	return all, note, err
}

// parse never shows what is in the file: a decoder's own words may quote a part of a key.
func (f keyFile) parse(data []byte) (entries, error) {
	var all entries
	err := json.Unmarshal(data, &all)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, f.broken(fmt.Sprintf("it is not valid JSON at byte %d", syntax.Offset))
	case err != nil:
		return nil, f.broken("it must be one JSON object, by provider")
	}
	return all, nil
}

// store keeps the key of a provider in place of the one before.
func (f keyFile) store(id string, c credentials) error {
	if f.path == "" {
		return errors.New("there is no folder to keep a key in: set HOME or CARTAGENT_CONFIG_DIR")
	}
	all, _, err := f.load()
	if err != nil {
		return err
	}
	entry, err := f.entry(all, id)
	if err != nil {
		return err
	}
	delete(entry, "baseUrl")
	for name, value := range map[string]string{"key": c.key, "baseUrl": c.baseURL} {
		if value == "" {
			continue
		}
		if entry[name], err = json.Marshal(value); err != nil {
			return fmt.Errorf("storing the key: %w", err)
		}
	}
	if all == nil {
		all = entries{}
	}
	if all[id], err = json.Marshal(entry); err != nil {
		return fmt.Errorf("storing the key: %w", err)
	}
	return f.write(all)
}

// forget removes the key of a provider, or with an empty id the whole file, readable or not. It says whether there was
// anything to remove.
func (f keyFile) forget(id string) (bool, error) {
	if f.path == "" {
		return false, nil
	}
	if id == "" {
		return f.remove()
	}
	all, _, err := f.load()
	if err != nil {
		return false, err
	}
	if _, ok := all[id]; !ok {
		return false, nil
	}
	delete(all, id)
	if len(all) == 0 {
		return f.remove()
	}
	return true, f.write(all)
}

// remove removes the file, and what a crash in the middle of a write has left of another.
func (f keyFile) remove() (bool, error) {
	target := f.target()
	err := os.Remove(target)
	had := err == nil
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	errs := []error{err}
	for _, left := range f.unfinished() {
		errs = append(errs, os.Remove(left))
	}
	if err := errors.Join(errs...); err != nil {
		return had, fmt.Errorf("removing the stored keys: %w", err)
	}
	return had, nil
}

// unfinished are the files that a crash in the middle of a write has left, each with keys in it.
func (f keyFile) unfinished() (paths []string) {
	dir := filepath.Dir(f.target())
	siblings, _ := os.ReadDir(dir) // a folder that is not there has none
	for _, s := range siblings {
		if strings.HasPrefix(s.Name(), keyFileName+".") && strings.HasSuffix(s.Name(), ".tmp") {
			paths = append(paths, filepath.Join(dir, s.Name()))
		}
	}
	return paths
}

// secrets are the files and folders that hold what the person has entrusted to this program: no tool of a model may read
// them, wherever a session works. A configuration is one while keys are written into it.
func (c *config) secrets() (paths []string) {
	if file := c.keyFile(); file.path != "" {
		paths = append(file.unfinished(), file.path)
	}
	if c.state != "" {
		paths = append(paths, tokenFolder(c.state))
	}
	for _, s := range c.MCP {
		if s.keyed() {
			paths = append(paths, s.file)
		}
	}
	return paths
}

// steering are the files and folders that decide what this program allows and runs: a person is asked about every change.
func (c *config) steering() (paths []string) {
	if c.dir != "" {
		paths = append(paths, c.dir, filepath.Join(c.dir, configName), c.trustFile().path)
	}
	if c.state != "" {
		paths = append(paths, c.state)
	}
	return paths
}

// target is the file itself, where the path is a link to it.
func (f keyFile) target() string { return linked(f.path) }

// write puts the file in place as a whole, readable by its owner alone from the first byte on.
func (f keyFile) write(all entries) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = replaceFile(f.target(), keyFileName, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("storing the keys: %w", err)
	}
	return nil
}
