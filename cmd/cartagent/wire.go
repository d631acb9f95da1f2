package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/anthropic"
	"github.com/cartagent/cartagent/llm/barista"
	"github.com/cartagent/cartagent/llm/openai"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
	"github.com/cartagent/cartagent/skills"
	"github.com/cartagent/cartagent/tools"
	"github.com/charmbracelet/log"
)

//go:embed system.md
var systemPrompt string

// program joins the packages. Everything but the configuration is made when it is first needed.
type program struct {
	cfg   *config
	log   *log.Logger
	model func() (loop.Model, error)
	store func() (session.Store, error)
	own   func() (string, error) // this program's path, to start the cart with
	now   func() time.Time
	freed func()
}

func newProgram(cfg *config, logger *log.Logger) *program {
	p := &program{cfg: cfg, log: logger, own: ownCommand, now: time.Now, freed: func() {}}
	p.model = sync.OnceValues(func() (loop.Model, error) { return newModel(cfg, logger) })
	p.store = sync.OnceValues(p.openStore)
	return p
}

func (p *program) close() { p.freed() }

func (p *program) openStore() (session.Store, error) {
	if p.cfg.state == "" {
		p.log.Warn("sessions are kept in memory only: neither CARTAGENT_STATE_DIR nor HOME is set")
		return session.NewMem(session.Options{}), nil
	}
	dir, err := session.OpenDir(p.cfg.state, session.Options{})
	if err != nil {
		return nil, err
	}
	p.freed = func() {
		if err := dir.Close(); err != nil {
			p.log.Warn("closing the session store", "err", err)
		}
	}
	return dir, nil
}

func newModel(cfg *config, logger *log.Logger) (loop.Model, error) {
	provider, name, _ := strings.Cut(cfg.Model, "/")
	c := cfg.keys[provider]
	switch provider {
	case "anthropic":
		return anthropic.New(anthropic.Config{Model: name, Key: c.key, BaseURL: c.baseURL, Log: logger})
	case "openai":
		return openai.New(openai.Config{Model: name, Key: c.key, BaseURL: c.baseURL, Log: logger})
	}
	return barista.NewWith(barista.Options{Delay: pacer(cfg.pace)}), nil
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

// options are those of the agent, for one connection.
func (p *program) options() agent.Options {
	return agent.Options{
		Info:  acp.Implementation{Name: "cartagent", Title: "cartagent", Version: version()},
		Log:   p.log,
		Store: sessionStore{p.store},
		Open:  p.open,
		Check: func() error {
			_, err := p.model()
			return err
		},
		NewID: func() acp.SessionID { return acp.SessionID(session.NewID()) },
		Now:   p.now,
	}
}

// sessionStore is session.Store as agent wants it.
type sessionStore struct {
	open func() (session.Store, error)
}

func (s sessionStore) Create(ctx context.Context, id acp.SessionID, cwd string, created time.Time) (agent.Log, error) {
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	return store.Create(ctx, session.Info{ID: string(id), Cwd: cwd, Created: created})
}

// open makes what a session works with.
func (p *program) open(ctx context.Context, s agent.Setup) (*agent.Kit, error) {
	model, err := p.model()
	if err != nil {
		return nil, err
	}
	space, err := tools.Open(s.Roots)
	if err != nil {
		return nil, &loop.Failure{Kind: loop.FailRequest, Message: "The session's folders cannot be opened: " + err.Error()}
	}
	known, problems := skills.Load(p.skillSources(s.Roots[0])...)
	for _, problem := range problems {
		p.log.Warn("skill", "problem", problem.String())
	}
	servers := p.connect(ctx, s)
	kit := &agent.Kit{
		Model: model, System: strings.TrimSpace(systemPrompt), Rules: p.cfg.Rules,
		Close: func() error { return errors.Join(servers.close(), space.Close()) },
	}
	kit.Tools = tools.All(tools.Options{Workspace: space, FS: s.Files(space)})
	if len(known.All()) > 0 {
		kit.Tools = append(kit.Tools, skills.Tool(known))
	}
	kit.Tools = append(kit.Tools, servers.tools...)
	instructions, notes := skills.Instructions(p.cfg.dir, s.Roots[0])
	for _, n := range notes {
		p.log.Warn("instructions", "note", n)
	}
	kit.Context = loop.Blocks{loop.Text{Text: contextOf(p.now(), s.Roots, known.Index(), instructions, servers.missing)}}
	return kit, nil
}

func (p *program) skillSources(cwd string) []skills.Source {
	sources := []skills.Source{skills.Shipped()}
	if p.cfg.dir != "" {
		sources = append(sources, skills.Folder(filepath.Join(p.cfg.dir, "skills")))
	}
	return append(sources, skills.Project(cwd))
}

// contextOf is what the model is told along with the first prompt.
func contextOf(now time.Time, roots []string, skillIndex, instructions string, missing []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<context>\nToday is %s. The workspace is %s, on %s.\n", now.Format(time.DateOnly), roots[0], runtime.GOOS)
	if len(roots) > 1 {
		fmt.Fprintf(&b, "Other folders you may use: %s.\n", strings.Join(roots[1:], ", "))
	}
	for _, m := range missing {
		fmt.Fprintf(&b, "The MCP server %s\n", m)
	}
	if skillIndex != "" {
		b.WriteString("\nSkills:\n" + strings.TrimSpace(skillIndex) + "\n")
	}
	if instructions != "" {
		b.WriteString("\n" + strings.TrimSpace(instructions) + "\n")
	}
	b.WriteString("</context>")
	return b.String()
}

// ownCommand is the path of this program, as it was started: a copy or a link by another name stays one.
func ownCommand() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			return abs, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return path, nil
}
