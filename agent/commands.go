package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// SlashCommand is one that turns into a prompt: a skill, or a prompt of a server.
type SlashCommand struct {
	Name, Description, Hint string
	// Expand is what the model is told beside the words of the person, args being those behind the name.
	Expand func(ctx context.Context, args string) (loop.Blocks, error)
}

// builtin is a command that the agent answers itself, without the model.
type builtin struct {
	name, description, hint string
	// run gives the text to answer with, or none where it has told everything by itself.
	run func(s *session, ctx context.Context, kit *Kit, c typedCommand) (string, error)
	// bare says that it runs without a kit too, where none can be had: no key, no folder.
	bare bool
}

// typedCommand is a prompt that is a command: what stands behind its name, and the whole.
type typedCommand struct {
	args    string
	content loop.Blocks
}

func builtins() []builtin {
	return []builtin{
		{"help", "What can be typed here", "", (*session).help, true},
		{"context", "What fills the model's window", "", (*session).contextReport, false},
		{"mcp", "The MCP servers of this session", "", (*session).serverReport, false},
		{"permissions", "The rules in force; revoke N takes one back", "revoke N", (*session).permissions, false},
		{"compact", "Replace the conversation so far by a summary of it", "", (*session).compact, false},
	}
}

// commands are those that become prompts, a name only once: the folder's before the servers'.
func (s *session) commands() []SlashCommand {
	var all []SlashCommand
	if s.agent.o.Commands != nil {
		all = s.agent.o.Commands(s.cwd())
	}
	if s.kit != nil && s.kit.Commands != nil {
		all = append(slices.Clip(all), s.kit.Commands()...)
	}
	seen := make(map[string]bool)
	for _, b := range builtins() {
		seen[b.name] = true
	}
	return slices.DeleteFunc(all, func(c SlashCommand) bool {
		known := seen[c.Name]
		seen[c.Name] = true
		return known
	})
}

// announce tells the client the commands where they have changed. The caller holds opening.
func (s *session) announce(ctx context.Context) error {
	update := acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{}}
	add := func(name, description, hint string) {
		c := acp.AvailableCommand{Name: name, Description: description}
		if hint != "" {
			c.Input = &acp.UnstructuredCommandInput{Hint: hint}
		}
		update.AvailableCommands = append(update.AvailableCommands, c)
	}
	for _, b := range builtins() {
		add(b.name, b.description, b.hint)
	}
	for _, c := range s.commands() {
		add(c.Name, c.Description, c.Hint)
	}
	text, err := json.Marshal(update.AvailableCommands)
	if err != nil || string(text) == s.told {
		return err
	}
	s.told = string(text)
	return s.update(ctx, update)
}

// typed takes a prompt that is a command apart. Anything else has no name.
func typed(content loop.Blocks) (name, args string) {
	if len(content) == 0 {
		return "", ""
	}
	first, ok := content[0].(loop.Text)
	if !ok || !strings.HasPrefix(first.Text, "/") {
		return "", ""
	}
	name, args, _ = strings.Cut(strings.TrimPrefix(first.Text, "/"), " ")
	if before, rest, found := strings.Cut(name, "\n"); found {
		name, args = before, rest+" "+args
	}
	return name, strings.TrimSpace(args)
}

// needsNothing says whether a prompt is a command that needs nothing to work with.
func needsNothing(content loop.Blocks) bool {
	name, _ := typed(content)
	return slices.ContainsFunc(builtins(), func(b builtin) bool { return b.bare && b.name == name })
}

// command answers a prompt that is a command of ours. For one that becomes a prompt it gives what the model is told
// beside it; unknown ones are ordinary text.
func (s *session) command(ctx context.Context, kit *Kit, content loop.Blocks) (extra loop.Blocks, done bool, err error) {
	name, args := typed(content)
	if name == "" {
		return nil, false, nil
	}
	for _, b := range builtins() {
		if b.name != name {
			continue
		}
		text, err := b.run(s, ctx, kit, typedCommand{args, content})
		if err != nil || text == "" {
			return nil, true, err
		}
		return nil, true, s.note(ctx, content, text)
	}
	if err := s.opening.lock(ctx); err != nil {
		return nil, false, err
	}
	all := s.commands()
	s.opening.unlock()
	for _, c := range all {
		if c.Name != name {
			continue
		}
		extra, err = c.Expand(ctx, args)
		switch {
		case err == nil:
			return extra, false, nil
		case ctx.Err() != nil:
			return nil, false, err
		}
		return nil, true, s.note(ctx, content, err.Error())
	}
	return nil, false, nil
}

// note answers a command without the model.
func (s *session) note(ctx context.Context, content loop.Blocks, text string) error {
	id := fmt.Sprintf("note_%d_user", s.state.Notes()+1)
	return s.applyOwned(ctx, loop.Noted{MessageID: id, Content: content, Text: text})
}

func (s *session) help(ctx context.Context, _ *Kit, _ typedCommand) (string, error) {
	var b strings.Builder
	b.WriteString("Type what you want done, or one of these:\n\n")
	for _, c := range builtins() {
		fmt.Fprintf(&b, "- `%s` %s\n", strings.TrimSpace("/"+c.name+" "+c.hint), c.description)
	}
	if err := s.opening.lock(ctx); err != nil {
		return "", err
	}
	defer s.opening.unlock()
	for _, c := range s.commands() {
		fmt.Fprintf(&b, "- `%s` %s\n", strings.TrimSpace("/"+c.Name+" "+c.Hint), c.Description)
	}
	return strings.TrimSpace(b.String()), nil
}

// contextReport counts in bytes of what is sent, and estimates tokens from them, since only a provider could tell.
func (s *session) contextReport(_ context.Context, kit *Kit, _ typedCommand) (string, error) {
	tools, all := 0, kit.tools()
	for _, t := range all {
		tools += size(t.Spec())
	}
	parts := map[loop.Role]int{}
	for _, m := range s.state.History() {
		parts[m.Role] += size(m)
	}
	total := len(kit.System) + tools + parts[loop.RoleUser] + parts[loop.RoleAssistant] + parts[loop.RoleTool]
	var b strings.Builder
	fmt.Fprintf(&b, "| source | about tokens |\n|---|---|\n")
	for _, row := range []struct {
		name  string
		bytes int
	}{
		{"system prompt", len(kit.System)},
		{fmt.Sprintf("%d tools", len(all)), tools},
		{"your messages and their context", parts[loop.RoleUser]},
		{"the agent's messages", parts[loop.RoleAssistant]},
		{"results of tools", parts[loop.RoleTool]},
		{"**together**", total},
	} {
		fmt.Fprintf(&b, "| %s | %d |\n", row.name, row.bytes/4)
	}
	m, _ := s.agent.model(s.cwd(), s.option(optionModel))
	fmt.Fprintf(&b, "\nThe model is %s", m.ID)
	if m.Window > 0 {
		fmt.Fprintf(&b, ", with a window of %d tokens", m.Window)
	}
	if u := s.state.Usage(); u != (loop.Usage{}) {
		fmt.Fprintf(&b, "; its last request had %d, of which %d came from its cache", u.Input, u.CacheRead)
	}
	return b.String() + ".", nil
}

func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

func (s *session) serverReport(_ context.Context, kit *Kit, _ typedCommand) (string, error) {
	servers := kit.servers()
	var b strings.Builder
	for _, o := range kit.Off {
		fmt.Fprintf(&b, "%s is off: %s.\n\n", o.What, strings.ReplaceAll(o.Why, "\n", " "))
	}
	if len(servers) == 0 {
		return b.String() + "No MCP servers are connected.", nil
	}
	b.WriteString("| server | state | era | tools |\n|---|---|---|---|\n")
	for _, v := range servers {
		state := v.State
		if v.Why != "" {
			state += ": " + strings.NewReplacer("|", "\\|", "\n", " ").Replace(v.Why)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", v.Name, state, v.Era, v.Tools)
	}
	return strings.TrimSpace(b.String()), nil
}

func (s *session) permissions(ctx context.Context, kit *Kit, c typedCommand) (string, error) {
	added := s.state.Added()
	if word, rest, _ := strings.Cut(c.args, " "); word == "revoke" {
		n, _ := strconv.Atoi(strings.TrimSpace(rest)) // 0 where it is no number
		if n < 1 || n > len(added) {
			return fmt.Sprintf("There is no rule %q to take back. `/permissions` lists them by number.", strings.TrimSpace(rest)), nil
		}
		if err := s.applyOwned(ctx, loop.Revoked{Rule: n - 1}); err != nil {
			return "", err
		}
		return "Taken back: " + ruleText(added[n-1]) + ".", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The mode is %s.", s.option(optionMode))
	if len(kit.Rules) > 0 {
		b.WriteString("\n\nFrom the configuration:\n")
		for _, r := range kit.Rules {
			b.WriteString("- " + ruleText(r) + "\n")
		}
	}
	if len(added) > 0 {
		b.WriteString("\n\nChosen in this session (`/permissions revoke N` takes one back):\n")
		for i, r := range added {
			fmt.Fprintf(&b, "%d. %s%s\n", i+1, ruleText(r), changedText(r, kit.tools()))
		}
	}
	if len(kit.Rules)+len(added) == 0 {
		b.WriteString(" There are no rules: each tool's own default holds.")
	}
	return strings.TrimSpace(b.String()), nil
}

func ruleText(r loop.Rule) string {
	text := r.Verdict.String() + " " + r.Tool
	if len(r.Prefix) > 0 {
		text += " of `" + strings.Join(r.Prefix, " ") + "`"
		if !r.Exact {
			text += " and what begins like it"
		}
	}
	return text
}

// changedText says that a rule holds no more, since its tool is another by now.
func changedText(r loop.Rule, tools []loop.Tool) string {
	for _, t := range tools {
		if what := r.Changed(t.Spec()); what != "" {
			return " (not in force: the tool has changed since, " + what + ")"
		}
	}
	return ""
}
