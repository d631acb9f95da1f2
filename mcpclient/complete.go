package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Completion asks how the value of an argument may go on: of a prompt, or of a template of resources.
type Completion struct {
	Prompt   string // its name
	Template string // or its URI
	Argument string
	Value    string            // what there is of it
	Others   map[string]string // arguments that have a value already
}

// Completions are values that an argument may have, the best first.
type Completions struct {
	Values []string
	More   bool // the server has others
}

// Complete asks the server for values. A server that completes nothing gives none.
func (c *Client) Complete(ctx context.Context, q Completion) (Completions, error) {
	caps := c.session.InitializeResult().Capabilities
	if caps == nil || caps.Completions == nil {
		return Completions{}, nil
	}
	ref := &mcp.CompleteReference{Type: "ref/prompt", Name: q.Prompt}
	if q.Template != "" {
		ref = &mcp.CompleteReference{Type: "ref/resource", URI: q.Template}
	}
	raw, err := c.request(ctx, func(ctx context.Context) (mcp.Meta, error) {
		params := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: q.Argument, Value: q.Value}}
		if len(q.Others) > 0 {
			params.Context = &mcp.CompleteContext{Arguments: q.Others}
		}
		r, err := c.session.Complete(ctx, params)
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	})
	if err != nil {
		return Completions{}, fmt.Errorf("completing %s: %w", printable(q.Argument, 128), err)
	}
	var d struct {
		Completion struct {
			Values  []string `json:"values"`
			HasMore bool     `json:"hasMore"`
		} `json:"completion"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return Completions{}, fmt.Errorf("completing %s: server %s: %w: %w", printable(q.Argument, 128), c.Name(), ErrInvalid, err)
	}
	return Completions{Values: d.Completion.Values, More: d.Completion.HasMore}, nil
}

// maxSuggested bounds the values that an error names.
const maxSuggested = 20

// suggest names values for a text, in brackets; it is empty where the server has none, or none but the one that there is.
func (c *Client) suggest(ctx context.Context, q Completion) string {
	ctx, cancel := context.WithTimeout(ctx, maxAside)
	defer cancel()
	got, err := c.Complete(ctx, q)
	if err != nil {
		c.log.Debug("no completions", "server", c.server.Name, "err", err)
		return ""
	}
	if len(got.Values) == 0 || slices.Contains(got.Values, q.Value) {
		return ""
	}
	var names []string
	for _, v := range got.Values[:min(len(got.Values), maxSuggested)] {
		names = append(names, printable(v, 100))
	}
	text := " (such as " + strings.Join(names, ", ")
	if got.More || len(got.Values) > maxSuggested {
		text += " and others"
	}
	return text + ")"
}
