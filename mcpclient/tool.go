package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cartagent/cartagent/loop"
)

// keyMeta is where a call's idempotency key goes, and where a tool says that it honours one.
const keyMeta = "dev.cartagent/idempotencyKey"

// Tool is one tool of a server, a loop.Tool. Type-assert to it to learn where a tool comes from.
type Tool struct {
	client *Client
	name   string
	spec   loop.Spec
	check  validator
}

var _ loop.Tool = (*Tool)(nil)

// Server is the name of the tool's server.
func (t *Tool) Server() string { return t.client.Name() }

// Original is the tool's name at its server.
func (t *Tool) Original() string { return t.name }

// tool reads one entry of tools/list.
func (c *Client) tool(raw json.RawMessage) (*Tool, error) {
	var d struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"inputSchema"`
		Annotations struct {
			Title    string `json:"title"`
			ReadOnly bool   `json:"readOnlyHint"`
		} `json:"annotations"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("decoding a tool: %w", err)
	}
	if d.Name == "" {
		return nil, errors.New("it has no name")
	}
	check, show, why, err := newValidator(d.Schema)
	if err != nil {
		return nil, err
	}
	if why != nil {
		c.log.Warn("arguments not checked", "server", c.server.Name, "tool", d.Name, "err", why)
	}
	title := cmp.Or(d.Title, d.Annotations.Title)
	reads := c.server.Trusted && d.Annotations.ReadOnly
	spec := loop.Spec{
		Name: ToolName(c.server.Name, d.Name), Title: title, Description: d.Description, Schema: show,
		Kind: loop.KindOther, Parallel: true, ReadOnly: reads, Keyed: string(d.Meta[keyMeta]) == "true",
	}
	if reads {
		spec.Default = loop.Allow
	}
	return &Tool{client: c, name: d.Name, spec: spec, check: check}, nil
}

// Spec is loop.Tool's.
func (t *Tool) Spec() loop.Spec { return t.spec }

// Preview is loop.Tool's: it holds the arguments against the schema and shows them.
func (t *Tool) Preview(_ context.Context, c loop.Call) (loop.Preview, error) {
	if err := t.check.check(c.Args); err != nil {
		return loop.Preview{}, fmt.Errorf("the arguments do not fit the schema of %s: %w; correct them and call again",
			t.spec.Name, err)
	}
	return loop.Preview{Title: t.title(c.Args)}, nil
}

// title is one line: the server, the tool and the beginning of the arguments.
func (t *Tool) title(args json.RawMessage) string {
	title := printable(t.Server()+": "+cmp.Or(t.spec.Title, t.name), 100)
	var compact bytes.Buffer
	if json.Compact(&compact, args) == nil && compact.Len() > len("{}") {
		title += " " + printable(compact.String(), 80)
	}
	return title
}

// Params are the params of the Client.Call that Run makes for a job.
func (t *Tool) Params(j loop.Job) CallParams {
	p := CallParams{
		Name: t.name, Args: j.Call.Args, Meta: map[string]any{}, Safe: t.spec.ReadOnly || t.spec.Keyed && j.Key != "",
	}
	if j.Key != "" {
		p.Meta[keyMeta] = j.Key
	}
	for name, value := range j.Trace {
		p.Meta[name] = value
	}
	return p
}

// Run is loop.Tool's. What the server wants to know first goes to the loop, or to Options.Elicit. What the tool itself calls
// a failure is a failed result; that the server does not answer, or refuses the call, is an error.
func (t *Tool) Run(ctx context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	raw, err := t.client.play(ctx, j, t.Params(j))
	if err != nil {
		return loop.Result{}, fmt.Errorf("calling %s: %w", t.name, err)
	}
	res, err := decodeResult(raw)
	if err != nil {
		return loop.Result{}, fmt.Errorf("calling %s: server %s: %w", t.name, t.Server(), err)
	}
	res.CallID = j.Call.ID
	return res, nil
}
