package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cartagent/cartagent/loop"
)

// Prompt describes a prompt of a server: text that a person asks for by its name. All of it is the server's word.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is what a prompt wants to know. Its value is a string.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Prompts lists the server's prompts, all pages of them, in its order. One that cannot be asked for by name is left
// out, with a warning in the log. A server without prompts gives none.
func (c *Client) Prompts(ctx context.Context) ([]Prompt, error) {
	entries, err := c.list(ctx, listing{"prompts", ChangedPrompts, func(ctx context.Context, cursor string) (mcp.Meta, error) {
		r, err := c.session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	}})
	var rpc *RPCError
	if errors.As(err, &rpc) && c.session.InitializeResult().Capabilities.Prompts == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var prompts []Prompt
	known := map[string]Prompt{}
	for _, raw := range entries {
		p, err := decodePrompt(raw)
		if _, twice := known[p.Name]; err == nil && twice {
			err = errors.New("another prompt has its name")
		}
		if err != nil {
			c.warnOnce("prompt left out", "prompt", nameOf(raw), "err", err)
			continue
		}
		known[p.Name] = p
		prompts = append(prompts, p)
	}
	c.known.Store(&known)
	return prompts, nil
}

// decodePrompt reads one entry of prompts/list.
func decodePrompt(raw json.RawMessage) (Prompt, error) {
	var d struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Arguments   []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Required    bool   `json:"required"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return Prompt{}, fmt.Errorf("decoding a prompt: %w", err)
	}
	untypable := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	switch {
	case d.Name == "":
		return Prompt{}, errors.New("it has no name")
	case strings.ContainsFunc(d.Name, untypable):
		return Prompt{}, errors.New("its name has spaces or characters that cannot be seen, so nobody could type it")
	}
	p := Prompt{Name: d.Name, Title: d.Title, Description: d.Description}
	seen := map[string]bool{}
	for _, a := range d.Arguments {
		switch {
		case a.Name == "":
			return Prompt{}, errors.New("an argument has no name")
		case seen[a.Name]:
			return Prompt{}, fmt.Errorf("two arguments are called %.100q", a.Name)
		}
		seen[a.Name] = true
		p.Arguments = append(p.Arguments, PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return p, nil
}

// Prompt gets a prompt: its messages one after the other as blocks of one, at least one block. Messages that are not
// the user's are introduced by a line that says whose they are, and so is the user's next. Required arguments that are
// missing are an error before the prompt is asked for. They are known from the last Prompts; where that has not named
// the prompt, the list is fetched first.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string) (loop.Blocks, error) {
	if err := c.checkPrompt(ctx, name, args); err != nil {
		return nil, fmt.Errorf("getting the prompt %s: %w", printable(name, 128), err)
	}
	raw, err := c.rounds(ctx, true, c.followed(nil, func(ctx context.Context, meta mcp.Meta) (mcp.Meta, error) {
		r, err := c.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args, Meta: meta})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	}))
	if err != nil {
		return nil, fmt.Errorf("getting the prompt %s: %w%s", printable(name, 128), err, c.better(ctx, name, args, err))
	}
	blocks, err := decodeMessages(raw)
	if err != nil {
		return nil, fmt.Errorf("getting the prompt %s: server %s: %w", printable(name, 128), c.Name(), err)
	}
	return blocks, nil
}

// better names other values for the arguments that a server has refused, where it knows some.
func (c *Client) better(ctx context.Context, name string, args map[string]string, err error) string {
	var rpc *RPCError
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams {
		return ""
	}
	var text strings.Builder
	for _, arg := range slices.Sorted(maps.Keys(args)) {
		others := maps.Clone(args)
		delete(others, arg)
		values := c.suggest(ctx, Completion{Prompt: name, Argument: arg, Value: args[arg], Others: others})
		if values == "" { // nothing begins like that
			values = c.suggest(ctx, Completion{Prompt: name, Argument: arg, Others: others})
			if strings.Contains(values, args[arg]) {
				continue
			}
		}
		if values != "" {
			text.WriteString("; " + printable(arg, 128) + " can be another" + values)
		}
	}
	return text.String()
}

// checkPrompt finds the required arguments that are missing. A prompt that is not listed is left to the server.
func (c *Client) checkPrompt(ctx context.Context, name string, args map[string]string) error {
	find := func() (p Prompt, ok bool) {
		if known := c.known.Load(); known != nil {
			p, ok = (*known)[name]
		}
		return p, ok
	}
	p, ok := find()
	if !ok {
		if _, err := c.Prompts(ctx); err != nil {
			return err
		}
		p, _ = find()
	}
	var missing []string
	for _, a := range p.Arguments {
		if _, ok := args[a.Name]; !ok && a.Required {
			missing = append(missing, a.describe()+c.suggest(ctx, Completion{Prompt: name, Argument: a.Name, Others: args}))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it needs %s; its arguments are: %s", strings.Join(missing, " and "), p.Hint())
	}
	return nil
}

// describe is the argument in words, for who has left it out.
func (a PromptArgument) describe() string {
	text := printable(a.Name, 128)
	if about := printable(a.Description, 200); about != "" {
		text += " (" + about + ")"
	}
	return text
}

// The roles of a prompt's messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// decodeMessages makes blocks of a prompts/get result. As in results of tools, content of a kind that is not known is
// kept.
func decodeMessages(raw json.RawMessage) (loop.Blocks, error) {
	var d struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("%w: the messages of a prompt: %w", ErrInvalid, err)
	}
	if len(d.Messages) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no messages", ErrInvalid)
	}
	var out loop.Blocks
	before := roleUser
	for i, m := range d.Messages {
		if m.Content == nil {
			return nil, fmt.Errorf("%w: message %d of the prompt has no content", ErrInvalid, i+1)
		}
		switch {
		case m.Role == roleAssistant:
			out = append(out, loop.Text{Text: "The assistant answered:"})
		case m.Role != roleUser:
			out = append(out, loop.Text{Text: fmt.Sprintf("A message of the role %.60q:", m.Role)})
		case before != roleUser:
			out = append(out, loop.Text{Text: "The user said:"})
		}
		out = append(out, decodeBlock(m.Content))
		before = m.Role
	}
	return out, nil
}
