package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// config is everything that a command can be told: flags over environment over file over defaults. It is read once.
type config struct {
	Model string                `json:"model,omitempty"`
	MCP   map[string]serverSpec `json:"mcpServers,omitempty"`
	Rules loop.Rules            `json:"permissions,omitempty"`
	// Models says what is not known of models by themselves, by provider/name.
	Models map[string]modelSpec `json:"models,omitempty"`

	dir, state string
	envKeys    map[string]credentials // by provider, as is keys
	keys       map[string]credentials // those of the environment, else the stored ones
	notes      []string               // what the person should know about what was read
	pace       time.Duration          // of the offline model
	chosen     bool                   // somebody named the model
}

// serverSpec is an MCP server in the field's usual shape.
type serverSpec struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout string            `json:"timeout,omitempty"`
	Trusted bool              `json:"trusted,omitempty"`
}

// modelSpec is what a person can say of a model. Window is in tokens.
type modelSpec struct {
	Window int `json:"window,omitempty"`
}

// window is a model's context window in tokens; 0 where nobody has said how large it is.
func (c *config) window(model string) int {
	if w := c.Models[model].Window; w > 0 {
		return w
	}
	if strings.HasPrefix(model, "anthropic/claude-") {
		return 200_000 // what every one of them has at least
	}
	return 0
}

// The model that answers when nobody has named one and there is no key for any other.
const offlineModel = "barista/cart"

// defaultModels are the models that a provider's key alone chooses, in order of preference.
func defaultModels() []string { return []string{"anthropic/claude-sonnet-5-5", "openai/gpt-5.5"} }

// flags are what the commands that run an agent share.
type flags struct {
	model     string
	mcpConfig string
	bypass    bool
}

// loadConfig reads the configuration. Its error names everything that is wrong.
func loadConfig(env func(string) string, f flags) (*config, error) {
	c := &config{
		dir:     configDir(env),
		state:   cmp.Or(env("CARTAGENT_STATE_DIR"), xdg(env, "XDG_STATE_HOME", ".local", "state")),
		envKeys: envKeys(env),
	}
	var errs []error
	stored, note, err := c.keyFile().read()
	errs = append(errs, err)
	if note != "" {
		c.notes = append(c.notes, note)
	}
	c.keys = inForce(c.envKeys, stored)
	if c.dir != "" { // without a home there is no configuration: never the one of the folder that it runs in
		errs = append(errs, readJSON(filepath.Join(c.dir, "config.json"), c, true))
	}
	if f.mcpConfig != "" {
		var extra struct {
			MCP map[string]serverSpec `json:"mcpServers"`
		}
		errs = append(errs, readJSON(f.mcpConfig, &extra, false))
		if len(extra.MCP) > 0 && c.MCP == nil {
			c.MCP = make(map[string]serverSpec)
		}
		maps.Copy(c.MCP, extra.MCP)
	}
	if p := env("CARTAGENT_BARISTA_PACE"); p != "" {
		var err error
		if c.pace, err = time.ParseDuration(p); err != nil || c.pace < 0 {
			errs = append(errs, fmt.Errorf("CARTAGENT_BARISTA_PACE is %q: use a duration such as 50ms", p))
		}
	}
	c.Model = cmp.Or(f.model, env("CARTAGENT_MODEL"), c.Model)
	c.chosen = c.Model != ""
	if !c.chosen {
		c.Model = defaultModel(c.keys)
	}
	errs = append(errs, c.validate())
	if err := errors.Join(errs...); err != nil {
		return nil, usageError(err)
	}
	return c, nil
}

func configDir(env func(string) string) string {
	return cmp.Or(env("CARTAGENT_CONFIG_DIR"), xdg(env, "XDG_CONFIG_HOME", ".config"))
}

func (c *config) keyFile() keyFile { return keyFileIn(c.dir) }

// xdg is cartagent's folder of a kind, empty where there is no home for it.
func xdg(env func(string) string, name string, fallback ...string) string {
	if base := env(name); base != "" && filepath.IsAbs(base) {
		return filepath.Join(base, "cartagent")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(append(append([]string{home}, fallback...), "cartagent")...)
	}
	return ""
}

// defaultModel is the model that those keys choose.
func defaultModel(keys map[string]credentials) string {
	for _, m := range defaultModels() {
		provider, _, _ := strings.Cut(m, "/")
		if keys[provider].key != "" {
			return m
		}
	}
	return offlineModel
}

func (c *config) validate() error {
	var errs []error
	provider, name, ok := strings.Cut(c.Model, "/")
	switch {
	case !ok || name == "":
		errs = append(errs, fmt.Errorf("the model %q is not of the form provider/name: use %s, %s/NAME or %s/NAME",
			c.Model, offlineModel, "anthropic", "openai"))
	case !slices.Contains([]string{"anthropic", "openai", "barista"}, provider):
		errs = append(errs, fmt.Errorf("there is no provider %q (for the model %q): use anthropic, openai or barista", provider, c.Model))
	case provider == "barista" && c.Model != offlineModel:
		errs = append(errs, fmt.Errorf("there is no model %q: the offline one is %s", c.Model, offlineModel))
	}
	for name, s := range c.MCP {
		if s.Type != "" && s.Type != "stdio" {
			errs = append(errs, fmt.Errorf("mcpServers.%s: type %q is not supported; only servers with a command are", name, s.Type))
		} else if s.Command == "" {
			errs = append(errs, fmt.Errorf("mcpServers.%s: it has no command", name))
		}
		if _, err := s.timeout(); err != nil {
			errs = append(errs, fmt.Errorf("mcpServers.%s: %w", name, err))
		}
	}
	if err := c.Rules.Check(); err != nil {
		errs = append(errs, fmt.Errorf("permissions: %w", err))
	}
	return errors.Join(errs...)
}

func (s serverSpec) timeout() (time.Duration, error) {
	if s.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s.Timeout)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("timeout %q: use a duration such as 60s", s.Timeout)
	}
	return d, nil
}

// readJSON reads a file into v. Keys that v does not have are refused, and the error names the nearest that it has.
func readJSON(file string, v any, optional bool) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && optional {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %s", file, explain(err))
	}
	if dec.More() {
		return fmt.Errorf("%s: there is more than one JSON value in it", file)
	}
	return nil
}

// explain makes a decoder's error a sentence for the person who wrote the file.
func explain(err error) string {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		return fmt.Sprintf("%s must not be a %s", cmp.Or(wrongType.Field, "the file"), wrongType.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not valid JSON at byte %d: %v", syntax.Offset, err)
	}
	key, found := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !found {
		return err.Error()
	}
	key = strings.Trim(key, `"`)
	known := []string{
		"model", "mcpServers", "permissions", "models", "window", "command", "args", "env", "type", "timeout", "trusted",
		"tool", "prefix", "exact", "verdict", "why", "match", "miss",
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(key, a), distance(key, b)) })
	return fmt.Sprintf("the key %q is not known (did you mean %q?)", key, nearest)
}

// distance is the edit distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
