package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ElicitFunc puts a server's question to the person and waits for the answer. It may be called for several questions at
// once. An error gives the request up that the question came for: to decline is an Answer.
type ElicitFunc func(ctx context.Context, q Question) (Answer, error)

// Question is what a server wants to know from the person. All of it is the server's word, but for Server.
type Question struct {
	Server  string          `json:"server"`
	Key     string          `json:"key,omitempty"` // names it among those of one request; of a legacy server's page, what it calls it, else empty there
	Mode    string          `json:"mode"`          // ModeForm or ModeURL
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // of a form: a flat object
	URL     string          `json:"url,omitempty"`    // to be shown whole, and opened only when the person says so
}

// The modes of a question.
const (
	ModeForm = "form"
	ModeURL  = "url"
)

// Answer is what the person says.
type Answer struct {
	Action  string          `json:"action"`            // ActionAccept, ActionDecline or ActionCancel
	Content json.RawMessage `json:"content,omitempty"` // of an accepted form: an object
}

// The actions of an answer.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// Input is what a server wants before it goes on with a request.
type Input struct {
	Questions []Question `json:"questions,omitempty"` // in the server's order; none means: later
	// State is to be sent back as it is: the JSON string that the server sent, with what no Go string could hold. Nil is
	// none, which "" is not.
	State json.RawMessage `json:"state,omitempty"`
}

// methodElicit is how questions come.
const methodElicit = "elicitation/create"

// Fill puts the schema's defaults where an accepted answer says nothing, and holds the answer against the schema. The
// answers of other kinds lose their content.
func (q Question) Fill(a Answer) (Answer, error) {
	switch {
	case a.Action != ActionAccept && a.Action != ActionDecline && a.Action != ActionCancel:
		return a, fmt.Errorf("the answer to a question of server %s is %.60q; it must be accept, decline or cancel",
			q.Server, a.Action)
	case a.Action != ActionAccept || q.Mode == ModeURL:
		return Answer{Action: a.Action}, nil
	}
	content := map[string]json.RawMessage{}
	if raw := bytes.TrimSpace(a.Content); len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &content); err != nil {
			return a, fmt.Errorf("the answer to a question of server %s is no object: %w", q.Server, err)
		}
	}
	var schema struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(q.Schema, &schema) == nil {
		for name, p := range schema.Properties {
			if _, given := content[name]; !given && p.Default != nil {
				content[name] = p.Default
			}
		}
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return a, fmt.Errorf("encoding the answer to a question of server %s: %w", q.Server, err)
	}
	if len(q.Schema) > 0 {
		check, _, _, err := newValidator(q.Schema)
		if err == nil {
			err = check.check(raw)
		}
		if err != nil {
			return a, fmt.Errorf("the answer does not fit the form of server %s: %w", q.Server, err)
		}
	}
	return Answer{Action: ActionAccept, Content: raw}, nil
}

// decodeQuestion reads the params of an elicitation/create.
func decodeQuestion(server, key string, params json.RawMessage) (Question, error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
		ID      string          `json:"elicitationId"` // of the handshake era
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return Question{}, fmt.Errorf("server %s: %w: a question: %w", server, ErrInvalid, err)
	}
	q := Question{Server: server, Key: key, Mode: p.Mode, Message: p.Message}
	switch {
	case p.Mode == ModeURL && p.URL != "":
		q.URL, q.Key = p.URL, cmp.Or(key, p.ID)
		return q, nil
	case p.Mode == ModeURL:
		return Question{}, fmt.Errorf("server %s: %w: a question wants a URL to be opened and has none", server, ErrInvalid)
	case p.Mode != ModeForm && p.Mode != "":
		return Question{}, fmt.Errorf("server %s: %w: a question of the unknown mode %.60q", server, ErrInput, p.Mode)
	}
	q.Mode = ModeForm
	if string(p.Schema) != "null" {
		q.Schema = p.Schema
	}
	return q, nil
}

// decodeInput reads a result of the type input_required.
func decodeInput(server string, raw json.RawMessage) (*Input, error) {
	var d struct {
		Requests json.RawMessage `json:"inputRequests"`
		State    json.RawMessage `json:"requestState"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("server %s: %w: what it asks for: %w", server, ErrInvalid, err)
	}
	in := &Input{}
	switch state := bytes.TrimSpace(d.State); {
	case len(state) > 0 && state[0] == '"':
		in.State = state
	case len(state) > 0 && string(state) != "null":
		return nil, fmt.Errorf("server %s: %w: the state of its request is no string", server, ErrInvalid)
	}
	for key, one := range members(d.Requests) {
		var r struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(one, &r); err != nil {
			return nil, fmt.Errorf("server %s: %w: what it asks for: %w", server, ErrInvalid, err)
		}
		if r.Method != methodElicit {
			return nil, fmt.Errorf("server %s: %w: %.60q", server, ErrInput, r.Method)
		}
		q, err := decodeQuestion(server, key, r.Params)
		if err != nil {
			return nil, err
		}
		in.Questions = append(in.Questions, q)
	}
	if len(in.Questions) == 0 && in.State == nil {
		return nil, fmt.Errorf("server %s: %w: it asks for input and does not say which", server, ErrInvalid)
	}
	return in, nil
}

// members gives the members of an object in its order; nothing of what is no object.
func members(object json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return
		}
		for d.More() {
			key, err := d.Token()
			name, ok := key.(string)
			var value json.RawMessage
			if err != nil || !ok || d.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

// retry is what a request repeats of the input that was asked for.
type retry struct {
	responses map[string]Answer
	state     json.RawMessage // a JSON string, or nil
}

// retryKey is where a request of the SDK has the ticket for its retry.
const retryKey = "dev.cartagent/retry"

// hold keeps a retry for the request that will carry the ticket in its _meta.
func (c *conn) hold(r retry) (ticket string, drop func()) {
	ticket = rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retries[ticket] = r
	return ticket, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.retries, ticket)
	}
}

// amend puts into the params of a request what the SDK cannot say: the cursor "", and the parts of a retry as they are.
func (c *conn) amend(params json.RawMessage) (json.RawMessage, error) {
	params = bytes.Replace(params, []byte(`"cursor":"`+emptyCursor+`"`), []byte(`"cursor":""`), 1)
	if !bytes.Contains(params, []byte(retryKey)) {
		return params, nil
	}
	var p, meta map[string]json.RawMessage
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("decoding a request: %w", err)
	}
	if json.Unmarshal(p["_meta"], &meta) != nil {
		return params, nil //nolint:nilerr // without _meta it is no retry
	}
	var ticket string
	_ = json.Unmarshal(meta[retryKey], &ticket) // what is none is not found
	c.mu.Lock()
	r, ok := c.retries[ticket]
	c.mu.Unlock()
	if !ok {
		return params, nil
	}
	delete(meta, retryKey)
	var err error
	if p["_meta"], err = json.Marshal(meta); err != nil {
		return nil, fmt.Errorf("encoding a retry: %w", err)
	}
	if r.state != nil {
		p["requestState"] = r.state
	}
	if len(r.responses) > 0 {
		if p["inputResponses"], err = json.Marshal(r.responses); err != nil {
			return nil, fmt.Errorf("encoding a retry: %w", err)
		}
	}
	return json.Marshal(p)
}

// The bounds of asking: a server that wants to know more and more, or never gets to it, is given up.
const (
	maxRounds   = 10
	roundPause  = 100 * time.Millisecond // after a round without questions; twice that after the next one
	longestStop = 2 * time.Second
)

// sender sends a request of the SDK with something in its _meta.
type sender func(ctx context.Context, l *limit, meta mcp.Meta) (mcp.Meta, error)

// followed is a sender of a request that may have progress: it extends the request's time, and is shown by show, which is
// nil for nobody.
func (c *Client) followed(show func(line string), send func(ctx context.Context, meta mcp.Meta) (mcp.Meta, error)) sender {
	return func(ctx context.Context, l *limit, meta mcp.Meta) (mcp.Meta, error) {
		token, drop := c.conn.follow(&watch{grow: l.grow, show: show})
		defer drop()
		meta = maps.Clone(meta)
		meta["progressToken"] = token
		return send(ctx, meta)
	}
}

// round makes one request. It gives the result, or what the server wants before it goes on.
func (c *Client) round(ctx context.Context, r retry, safe bool, send sender) (json.RawMessage, *Input, error) {
	do := func(ctx context.Context, l *limit) (mcp.Meta, error) {
		meta := mcp.Meta{}
		if c.conn.modern.Load() && (r.state != nil || len(r.responses) > 0) {
			ticket, drop := c.conn.hold(r)
			defer drop()
			meta[retryKey] = ticket
		}
		return send(ctx, l, meta)
	}
	raw, kind, err := c.exchange(ctx, safe, do)
	if err != nil || kind != typeInput || !c.conn.modern.Load() {
		return raw, nil, errors.Join(err, c.unasked(kind, err))
	}
	in, err := decodeInput(c.server.Name, raw)
	return nil, in, err
}

// unasked is the error of a legacy server that answers as a modern one would.
func (c *Client) unasked(kind string, err error) error {
	if err == nil && kind == typeInput {
		return fmt.Errorf("server %s: %w; call again with all that is needed as arguments", c.server.Name, ErrInput)
	}
	return nil
}

// rounds makes a request and asks the person what the server wants to know, until there is a result. Each round is a
// request of its own, with its own time; the person's time does not count. safe says that the request may be sent again
// when its answer was lost.
func (c *Client) rounds(ctx context.Context, safe bool, send sender) (json.RawMessage, error) {
	var r retry
	var opened []string
	pause := roundPause
	for range maxRounds {
		do := func() (json.RawMessage, *Input, error) { return c.round(ctx, r, safe, send) }
		again := do
		if c.elicit != nil {
			again = func() (json.RawMessage, *Input, error) { return c.past(ctx, opened, do) }
		}
		raw, in, err := again()
		if err != nil || in == nil {
			return raw, err
		}
		r = retry{state: in.State}
		if len(in.Questions) == 0 {
			if err := sleep(ctx, pause); err != nil {
				return nil, err
			}
			pause = min(2*pause, longestStop)
			continue
		}
		if r.responses, err = c.answers(ctx, in.Questions); err != nil {
			return nil, err
		}
		if c.conn.modern.Load() {
			continue
		}
		if err := c.accepted(r.responses); err != nil {
			return nil, err
		}
		opened = slices.AppendSeq(opened, maps.Keys(r.responses))
	}
	return nil, fmt.Errorf("server %s: %w: it has asked %d times and is not done", c.server.Name, ErrInput, maxRounds)
}

// answers asks the person one question after the other.
func (c *Client) answers(ctx context.Context, questions []Question) (map[string]Answer, error) {
	if c.elicit == nil {
		return nil, fmt.Errorf("server %s: %w; call again with all that is needed as arguments", c.server.Name, ErrInput)
	}
	out := map[string]Answer{}
	for _, q := range questions {
		if !c.conn.modern.Load() {
			c.conn.opened.add(q.Key, "", "")
		}
		a, err := c.elicit(ctx, q)
		if err == nil {
			a, err = q.Fill(a)
		}
		if err != nil {
			return nil, fmt.Errorf("asking what server %s wants to know: %w", c.server.Name, err)
		}
		out[q.Key] = a
	}
	return out, nil
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wrapQuestion hides the params of a legacy server's question from the SDK, which would lose parts of them.
func wrapQuestion(params json.RawMessage) json.RawMessage {
	wrapped, err := json.Marshal(map[string]any{
		"message": "", "_meta": map[string]string{ticketKey: string(params)},
	})
	if err != nil {
		return params // strings can be encoded
	}
	return wrapped
}

// questions answers the questions of legacy servers, in place of the SDK, which checks answers before it fills them.
func (c *conn) questions(elicit ElicitFunc) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			p, ok := r.GetParams().(*mcp.ElicitParams)
			if method != methodElicit || elicit == nil || !ok {
				return next(ctx, method, r)
			}
			params, _ := p.Meta[ticketKey].(string)
			q, err := decodeQuestion(c.name, "", json.RawMessage(params))
			if err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			var a Answer
			err = c.asking.ask(func() error {
				if a, err = elicit(ctx, q); err == nil {
					a, err = q.Fill(a)
				}
				return err
			})
			if err != nil {
				c.log.Warn("question not answered", "server", c.name, "err", err)
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the question could not be answered"}
			}
			res := &mcp.ElicitResult{Action: a.Action}
			if a.Content != nil {
				content, err := exact(a.Content)
				if err != nil {
					return nil, err
				}
				res.Content, _ = content.(map[string]any)
			}
			return res, nil
		}
	}
}

// capabilities are what this client offers to servers.
func capabilities(o Options) *mcp.ClientCapabilities {
	caps := &mcp.ClientCapabilities{}
	if o.Elicit != nil {
		caps.Elicitation = &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}
	}
	return caps
}

// probeCapabilities are the same as the probe says them.
func probeCapabilities(o Options) any {
	if o.Elicit == nil {
		return struct{}{}
	}
	return map[string]any{"elicitation": map[string]any{ModeForm: struct{}{}, ModeURL: struct{}{}}}
}
