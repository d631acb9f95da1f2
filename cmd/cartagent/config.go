package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// config is everything that a command can be told: flags over environment over file over defaults. It is read once.
type config struct {
	Model string
	MCP   map[string]serverSpec // ready to be connected
	Rules loop.Rules
	// Models says what is not known of models by themselves, by provider/name.
	Models map[string]modelSpec

	dir, state string
	env        func(string) string
	envKeys    map[string]credentials // by provider, as is keys
	keys       map[string]credentials // those of the environment, else the stored ones
	notes      []string               // what the person should know about what was read
	pace       time.Duration          // of the offline model
	chosen     bool                   // somebody named the model
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
		env:     env,
		state:   stateDir(env),
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
		errs = append(errs, readDocument(filepath.Join(c.dir, configName), true, func(d *document, raw json.RawMessage) { c.read(d, raw, env) }))
	}
	if f.mcpConfig != "" {
		errs = append(errs, readDocument(f.mcpConfig, false, func(d *document, raw json.RawMessage) {
			d.object("", raw, fields{"mcpServers": func(p string, raw json.RawMessage) { c.addServers(d, p, raw, env) }})
		}))
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
	errs = append(errs, checkModel(c.Model))
	if err := errors.Join(errs...); err != nil {
		return nil, usageError(err)
	}
	return c, nil
}

// configName is the file in the configuration folder.
const configName = "config.json"

// read takes in what config.json says.
func (c *config) read(d *document, raw json.RawMessage, env func(string) string) {
	d.object("", raw, fields{
		"model":       func(p string, raw json.RawMessage) { c.Model = d.text(p, raw) },
		"mcpServers":  func(p string, raw json.RawMessage) { c.addServers(d, p, raw, env) },
		"permissions": func(p string, raw json.RawMessage) { c.Rules = d.rules(p, raw) },
		"models": func(p string, raw json.RawMessage) {
			c.Models = make(map[string]modelSpec)
			d.each(p, raw, func(name, p string, raw json.RawMessage) { c.Models[name] = strictly[modelSpec](d, p, raw) })
		},
	})
}

// addServers puts servers in place of those of the same name.
func (c *config) addServers(d *document, path string, raw json.RawMessage, env func(string) string) {
	if c.MCP == nil {
		c.MCP = make(map[string]serverSpec)
	}
	added := d.servers(path, raw)
	for _, name := range slices.Sorted(maps.Keys(added)) {
		spec := added[name]
		if !spec.wrong {
			at := below(path, name)
			spec = spec.ready(env, func(key string, err error) { d.wrong(at+"."+key, "%w", err) })
		}
		c.MCP[name] = spec
	}
}

// rules reads rules of permission and tries their examples.
func (d *document) rules(path string, raw json.RawMessage) loop.Rules {
	var out loop.Rules
	before := len(d.errs)
	d.list(path, raw, func(_ int, path string, raw json.RawMessage) { out = append(out, strictly[loop.Rule](d, path, raw)) })
	if len(d.errs) > before {
		return nil
	}
	if err := out.Check(); err != nil {
		d.wrong(path, "%w", err)
	}
	return out
}

func configDir(env func(string) string) string {
	return cmp.Or(env("CARTAGENT_CONFIG_DIR"), xdg(env, "XDG_CONFIG_HOME", ".config"))
}

// stateDir is the folder of sessions and tokens; empty where there is none.
func stateDir(env func(string) string) string {
	return cmp.Or(env("CARTAGENT_STATE_DIR"), xdg(env, "XDG_STATE_HOME", ".local", "state"))
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

// checkModel says what is wrong with the name of a model.
func checkModel(model string) error {
	provider, name, ok := strings.Cut(model, "/")
	switch {
	case !ok || name == "":
		return fmt.Errorf("the model %q is not of the form provider/name: use %s, %s/NAME or %s/NAME",
			model, offlineModel, "anthropic", "openai")
	case !slices.Contains([]string{"anthropic", "openai", "barista"}, provider):
		return fmt.Errorf("there is no provider %q (for the model %q): use anthropic, openai or barista", provider, model)
	case provider == "barista" && model != offlineModel:
		return fmt.Errorf("there is no model %q: the offline one is %s", model, offlineModel)
	}
	return nil
}
