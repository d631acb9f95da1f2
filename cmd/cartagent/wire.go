package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
	"github.com/cartagent/cartagent/mcpclient/oauth"
	"github.com/cartagent/cartagent/session"
	"github.com/cartagent/cartagent/skills"
	"github.com/cartagent/cartagent/tools"
	"github.com/charmbracelet/log"
)

//go:embed system.md
var systemPrompt string

// program joins the packages. Everything but the configuration is made when it is first needed.
type program struct {
	cfg    *config
	log    *log.Logger
	models *models
	store  func() (session.Store, error)
	own    func() (string, error) // this program's path, to start the cart with
	now    func() time.Time
	bypass bool         // the mode in which nothing asks is offered
	tell   func(string) // says something to the person, where no client does
	tokens *oauth.Store // for MCP servers
	eras   *mcpclient.Eras
	signer func(agent.Setup) signer // who signs in for a session
	// patience is how long a session's first turn waits for MCP servers that are slow to start.
	patience  time.Duration
	freed     func()
	overStore func(session.Store) session.Store // see console
	// outside is what a session gets that is not of this build. A recording looks over its shoulder, a replay takes its
	// place.
	outside func(context.Context, agent.Setup) (*outside, error)
	over    func(agent.Options) agent.Options // puts what else a recording or a replay needs over the options
}

// firstTurn is how long a session's first turn waits for MCP servers where another turn may follow.
const firstTurn = 5 * time.Second

func newProgram(cfg *config, logger *log.Logger) *program {
	p := &program{cfg: cfg, log: logger, own: ownCommand, now: time.Now, patience: firstTurn, freed: func() {}}
	p.tokens, p.eras = cfg.tokens(), mcpclient.NewEras()
	p.signer = signerOf
	p.tell = func(text string) { logger.Warn("configuration", "note", text) }
	for _, n := range cfg.notes {
		logger.Warn("configuration", "note", n)
	}
	p.models = newModels(cfg, logger)
	p.store = once(p.openStore)
	p.outside = p.live
	p.over = func(o agent.Options) agent.Options { return o }
	return p
}

// once makes what can be made once and is good for ever after. A failure is no result: the next call tries again.
func once[T any](open func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var value T
	var done bool
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return value, nil
		}
		made, err := open()
		if err == nil {
			value, done = made, true
		}
		return made, err
	}
}

func (p *program) close() { p.freed() }

// forget removes the stored keys. Those of the environment stay in force.
func (p *program) forget() error {
	_, err := p.cfg.keyFile().forget("")
	return err
}

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
	if p.overStore != nil {
		return p.overStore(dir), nil
	}
	return dir, nil
}

// options are those of the agent, for one connection.
func (p *program) options() agent.Options {
	return p.over(agent.Options{
		Info:   acp.Implementation{Name: "cartagent", Title: "cartagent", Version: version()},
		Log:    p.log,
		Store:  sessionStore{p.store, func(id, problem string) { p.log.Warn("damaged log", "session", id, "problem", problem) }},
		Open:   p.open,
		Models: func(cwd, chosen string) []agent.Model { return p.models.offered(p.modelOf(cwd), chosen) },
		Check: func(model string) error {
			_, err := p.models.get(model, "")
			return err
		},
		Folder:   tools.CheckRoot,
		Commands: p.skillCommands,
		MCP:      acp.MCPCapabilities{HTTP: true, SSE: true},
		Logout:   p.forget,
		Bypass:   p.bypass,
		NewID:    func() acp.SessionID { return acp.SessionID(session.NewID()) },
		Now:      p.now,
	})
}

// modelOf is the model that the project in a folder names, as far as the person has left that open; else empty.
func (p *program) modelOf(cwd string) string {
	if cwd == "" || p.cfg.chosen {
		return ""
	}
	return p.cfg.projectIn(cwd).model
}

// open makes what a session works with.
func (p *program) open(ctx context.Context, s agent.Setup) (*agent.Kit, error) {
	out, err := p.outside(ctx, s)
	if err != nil {
		return nil, err
	}
	space, err := tools.Open(s.Roots)
	if err != nil {
		return nil, errors.Join(&loop.Failure{Kind: loop.FailRequest, Message: "The session has no place to work in: " + err.Error() +
			". Make it, or load the session in another folder."}, out.close())
	}
	space.Hide(p.cfg.secrets)
	space.Guard(p.cfg.steering)
	known, problems := skills.Load(p.skillSources(s.Roots[0])...)
	for _, problem := range problems {
		p.log.Warn("skill", "problem", problem.String())
	}
	kit := &agent.Kit{
		Model: out.model, Servers: out.servers.states, Commands: out.servers.commands, Changed: out.changed,
		Resource: out.servers.resource,
		// The offline model brings its cart, and needs no other tools than a cart's.
		Fits:   func(model string) bool { return (model == offlineModel) == (s.Model == offlineModel) },
		System: strings.TrimSpace(systemPrompt), Rules: out.rules, Off: out.off,
		Close: func() error { return errors.Join(out.close(), space.Close()) },
	}
	for _, o := range out.off {
		p.tell(strings.Replace(o.What, "The", "the", 1) + " is off: " + o.Why)
	}
	options := tools.Options{Workspace: space, Terminal: out.terminal(s.Terminal)}
	if files := s.Files(space); files != agent.Files(space) { // else the tools read the disk by themselves, long files too
		options.FS = files
	}
	own := newGuide(s.Roots[0], p.log).over(tools.All(options))
	if len(known.All()) > 0 {
		own = append(own, skills.Tool(known))
	}
	own = out.own(own)
	kit.Tools = func() []loop.Tool { return append(slices.Clip(own), out.servers.tools()...) }
	instructions, notes := skills.Instructions(p.cfg.dir, s.Roots[0])
	for _, n := range notes {
		p.log.Warn("instructions", "note", n)
	}
	at := place{out.now, out.platform, s.Roots}
	kit.Context = loop.Blocks{loop.Text{Text: contextOf(at, known.Index(), instructions, missing(out.servers.states()), out.index)}}
	return kit, nil
}

// editorTerminal is the client's terminal as tools want it.
type editorTerminal struct{ client agent.Terminal }

func (e editorTerminal) Run(ctx context.Context, c tools.Command, report func(loop.Block)) (tools.Exit, error) {
	exit, err := e.client.Run(ctx, agent.Command(c), report)
	if errors.Is(err, agent.ErrNoTerminal) {
		err = fmt.Errorf("%w: %w", tools.ErrNoTerminal, err)
	}
	return tools.Exit(exit), err
}

// skillCommands are the skills of a folder as slash commands.
func (p *program) skillCommands(cwd string) []agent.SlashCommand {
	known, _ := skills.Load(p.skillSources(cwd)...)
	var out []agent.SlashCommand
	for _, skill := range known.All() {
		out = append(out, agent.SlashCommand{
			Name: skill.Name, Description: skill.Description, Hint: "what to do with it",
			Expand: func(context.Context, string) (loop.Blocks, error) {
				text := fmt.Sprintf("<context>\nThe user asks for the skill %s:\n\n%s\n</context>", skill.Name, strings.TrimSpace(skill.Body))
				return loop.Blocks{loop.Text{Text: text}}, nil
			},
		})
	}
	return out
}

func (p *program) skillSources(cwd string) []skills.Source {
	sources := []skills.Source{skills.Shipped()}
	if p.cfg.dir != "" {
		sources = append(sources, skills.Folder(filepath.Join(p.cfg.dir, "skills")))
	}
	return append(sources, skills.Project(cwd))
}

// place is when and where a session begins.
type place struct {
	now      time.Time
	platform string
	roots    []string
}

// contextOf is what the model is told along with the first prompt.
func contextOf(at place, skillIndex, instructions string, missing []string, shelf string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<context>\nToday is %s. The workspace is %s, on %s.\n", at.now.Format(time.DateOnly), at.roots[0], at.platform)
	if len(at.roots) > 1 {
		fmt.Fprintf(&b, "Other folders you may use: %s.\n", strings.Join(at.roots[1:], ", "))
	}
	for _, m := range missing {
		fmt.Fprintf(&b, "The MCP server %s\n", m)
	}
	if shelf != "" {
		b.WriteString("\nTools of MCP servers that tool_search finds:\n" + shelf + "\n")
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
