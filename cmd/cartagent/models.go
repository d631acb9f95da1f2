package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/anthropic"
	"github.com/cartagent/cartagent/llm/barista"
	"github.com/cartagent/cartagent/llm/openai"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// models makes the models that sessions choose, each once.
type models struct {
	cfg  *config
	log  *log.Logger
	ring *keyring

	mu    sync.Mutex
	made  map[[2]string]loop.Model // by name and level of thought
	login string                   // the model that a login has chosen since the start
}

func newModels(cfg *config, logger *log.Logger) *models {
	return &models{cfg: cfg, log: logger, ring: newKeyring(cfg, logger), made: make(map[[2]string]loop.Model)}
}

// get is a model, by provider/name, that thinks at that level; empty or asItIs leaves that to the provider. A missing
// key is a *loop.Failure that names it.
func (m *models) get(name, thinking string) (loop.Model, error) {
	if thinking == asItIs {
		thinking = ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{name, thinking}
	made := m.made[key]
	if made == nil {
		made = m.make(name, thinking)
		m.made[key] = made
	}
	if k, ok := made.(*keyed); ok {
		if _, err := k.current(); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (m *models) make(name, thinking string) loop.Model {
	id, _, _ := strings.Cut(name, "/")
	if p, ok := providerNamed(id); ok {
		return &keyed{ring: m.ring, provider: p, make: func(c credentials) (loop.Model, error) { return m.makeWith(c, name, thinking) }}
	}
	return barista.NewWith(barista.Options{Delay: pacer(m.cfg.pace)})
}

func (m *models) makeWith(c credentials, name, thinking string) (loop.Model, error) {
	provider, model, _ := strings.Cut(name, "/")
	switch provider {
	case "anthropic":
		return anthropic.New(anthropic.Config{
			Model: model, Key: c.key, BaseURL: c.baseURL, Thinking: anthropic.Thinking{Effort: thinking}, Log: m.log,
		})
	case "openai":
		return openai.New(openai.Config{Model: model, Key: c.key, BaseURL: c.baseURL, Thinking: thinking, Log: m.log})
	}
	return nil, &loop.Failure{Kind: loop.FailRequest, Message: "There is no provider " + provider + "."}
}

// start is the model of a session that has chosen none: the configured one. Where nothing is configured, a login makes
// it that of the key; a logout leaves it that, so that it is missed and not replaced.
func (m *models) start(keys map[string]credentials) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cfg.Model != offlineModel || m.cfg.chosen {
		return m.cfg.Model
	}
	if chosen := defaultModel(keys); m.login == "" && chosen != offlineModel {
		m.login = chosen
	}
	return cmp.Or(m.login, m.cfg.Model)
}

// asItIs is the level of thought that a model has by itself.
const asItIs = "default"

// thinkers are the models that take a level of thought.
var thinkers = regexp.MustCompile(`^(anthropic/claude-[a-z]+-[5-9]|anthropic/claude-opus-4-[5-9]|openai/(gpt-[5-9]|o[1-9]))`)

// offered are the models that a session can choose: first the one that its project names, if it does, then the
// configured one, the one that it has chosen before, one of each provider that has a key, and the offline one.
func (m *models) offered(first, chosen string) []agent.Model {
	keys := m.ring.now()
	var names []string
	if first != "" {
		names = append(names, first)
	}
	names = append(names, m.start(keys))
	if provider, _, _ := strings.Cut(chosen, "/"); keys[provider].key != "" {
		names = append(names, chosen)
	}
	for _, name := range defaultModels() {
		provider, _, _ := strings.Cut(name, "/")
		// What a server at another address has cannot be known.
		if c := keys[provider]; c.key != "" && c.baseURL == "" {
			names = append(names, name)
		}
	}
	names = append(names, offlineModel)
	var out []agent.Model
	for _, name := range names {
		if slices.ContainsFunc(out, func(o agent.Model) bool { return o.ID == name }) {
			continue
		}
		o := agent.Model{ID: name, Name: name, Window: m.cfg.window(name), Offline: name == offlineModel}
		if thinkers.MatchString(name) {
			o.Thinking = []string{asItIs, "low", "medium", "high"}
		}
		out = append(out, o)
	}
	return out
}

// pacer makes the offline model speak at a human pace, for those who want to watch it stream; nil for at once.
func pacer(pause time.Duration) func(context.Context) error {
	if pause <= 0 {
		return nil
	}
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			return nil
		}
	}
}
