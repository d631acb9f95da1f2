package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	output *validator // nil where results are not checked
}

var _ loop.Tool = (*Tool)(nil)

// Server is the name of the tool's server.
func (t *Tool) Server() string { return t.client.Name() }

// Original is the tool's name at its server.
func (t *Tool) Original() string { return t.name }

// described is one entry of tools/list.
type described struct {
	Name        string                     `json:"name"`
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	Schema      json.RawMessage            `json:"inputSchema"`
	Output      json.RawMessage            `json:"outputSchema"`
	Annotations json.RawMessage            `json:"annotations"`
	Execution   json.RawMessage            `json:"execution"`
	Meta        map[string]json.RawMessage `json:"_meta"`
}

// hints are what a tool says it does. They are a server's word, and nothing rests on them unless the user trusts it.
type hints struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
}

// tool reads one entry of tools/list.
func (c *Client) tool(raw json.RawMessage) (*Tool, error) {
	var d described
	var h hints
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("decoding a tool: %w", err)
	}
	if d.Annotations != nil {
		if err := json.Unmarshal(d.Annotations, &h); err != nil {
			return nil, fmt.Errorf("decoding a tool's annotations: %w", err)
		}
	}
	if d.Name == "" {
		return nil, errors.New("it has no name")
	}
	if d.needsTask() {
		return nil, errors.New("it can only be run as a task, which this client does not do")
	}
	check, show, why, err := newValidator(d.Schema)
	if err != nil {
		return nil, err
	}
	if why != nil {
		c.log.Warn("arguments not checked", "server", c.server.Name, "tool", d.Name, "err", why)
	}
	output, why := outputValidator(d.Output)
	if why != nil {
		c.log.Warn("results not checked", "server", c.server.Name, "tool", d.Name, "err", why)
	}
	// A tool that says both that it only reads and that it destroys is not believed.
	reads := c.server.Trusted && h.ReadOnly && (h.Destructive == nil || !*h.Destructive)
	spec := loop.Spec{
		Name: ToolName(c.server.Name, d.Name), Title: cmp.Or(d.Title, h.Title), Description: d.Description, Schema: show,
		Kind: loop.KindOther, Parallel: true, ReadOnly: reads,
		// To call an idempotent tool again with the same arguments is the same act, with or without a key.
		Keyed:       string(d.Meta[keyMeta]) == "true" || c.server.Trusted && h.Idempotent,
		Fingerprint: fingerprint(d),
	}
	if reads {
		spec.Default = loop.Allow
	}
	return &Tool{client: c, name: d.Name, spec: spec, check: check, output: output}, nil
}

// needsTask is whether a server of 2025-11-25 refuses each call of the tool that is not a task.
func (d described) needsTask() bool {
	var e struct {
		Tasks string `json:"taskSupport"`
	}
	return json.Unmarshal(d.Execution, &e) == nil && e.Tasks == "required"
}

// fingerprint tells the versions of a tool apart. The order of members in its JSON is no difference.
func fingerprint(d described) loop.Fingerprint {
	digest := func(parts ...string) string {
		h := sha256.New()
		for _, p := range parts {
			h.Write(fmt.Appendf(nil, "%d:%s", len(p), p))
		}
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	return loop.Fingerprint{
		Description: digest(d.Name, d.Title, d.Description), Schema: digest(canonical(d.Schema)), Hints: digest(canonical(d.Annotations)),
	}
}

// canonical is the same text for the same JSON value.
func canonical(raw json.RawMessage) string {
	v, err := exact(raw)
	if err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
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
// a failure is a failed result; that the server does not answer, or refuses the call, is an error. What the server says of
// its progress is reported as one line, such as "3 of 10: brewing"; report may be nil.
func (t *Tool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	shows, p := newReporter(report), t.Params(j)
	raw, err := t.client.play(ctx, j, task{p.Safe, func(show func(string)) sender {
		p.show = show
		return t.client.caller(p)
	}}, shows)
	shows.stop()
	if err != nil && !namesServer(t.spec.Name, t.Server()) {
		err = t.client.signed(err)
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("calling %s: %w", t.name, err)
	}
	res, err := decodeResult(raw)
	if err != nil {
		return loop.Result{}, fmt.Errorf("calling %s: server %s: %w", t.name, t.Server(), err)
	}
	res = t.conform(res)
	res.CallID = j.Call.ID
	return res, nil
}

// conform holds a result against the tool's output schema. One that does not fit is a failed one: it says what is wrong,
// and still shows all that came. A result that the tool itself calls a failure need not fit.
func (t *Tool) conform(r loop.Result) loop.Result {
	if t.output == nil || r.Failed {
		return r
	}
	err := errors.New("it has no structured content")
	if r.Raw != nil {
		if err = t.output.check(r.Raw); err == nil {
			return r
		}
	}
	text := fmt.Sprintf("The result does not fit the output schema of %s: %s. What the server sent follows; do not rely on it. "+
		"The call may have taken effect: look before you make it again.", t.spec.Name, printable(err.Error(), 500))
	r.Content = append(loop.Blocks{loop.Text{Text: text}}, r.Content...)
	r.Failed = true
	return r
}
