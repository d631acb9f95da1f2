package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cartagent/cartagent/loop"
)

// CallParams say what to call, and with what.
type CallParams struct {
	Name string // as the server calls it
	Args json.RawMessage
	Meta map[string]any // goes along in the request's _meta
	// Safe says that the call may be sent again when its answer was lost.
	Safe bool

	// Responses are the answers to all questions of an earlier Outcome, by their keys, each as Question.Fill gives it, and
	// State is the state that came with them.
	Responses map[string]Answer
	State     json.RawMessage

	show func(line string) // has progress shown; nil for nobody
}

// Outcome is a result, or what the server wants to know before there is one.
type Outcome struct {
	Result loop.Result
	Input  *Input // nil with a result
}

// Call calls a tool once. When the server wants input first the outcome says so, and the call goes on with a Call that has
// the same Name and Args, the answers and the state. That may be another client's, of another process: nothing else is
// kept of it. Only modern servers ask that way, and legacy ones that want a page to be opened first; their other questions
// go to Options.Elicit, and so do all where Tool.Run makes the call.
func (c *Client) Call(ctx context.Context, p CallParams) (Outcome, error) {
	raw, in, err := c.round(ctx, retry{responses: p.Responses, state: p.State}, p.Safe, c.caller(p))
	if pages := c.wants(err); pages != nil {
		in, err = pages, nil
	}
	if err != nil || in != nil {
		return Outcome{Input: in}, callError(p.Name, err)
	}
	res, err := decodeResult(raw)
	if err != nil {
		return Outcome{}, fmt.Errorf("calling %s: server %s: %w", p.Name, c.Name(), err)
	}
	return Outcome{Result: res}, nil
}

func callError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("calling %s: %w", name, err)
}

// codeHeaderMismatch is a modern server's word that the headers of a request do not fit its body.
const codeHeaderMismatch = -32020

// caller sends a tools/call. A server over HTTP that misses headers has changed the tool's schema: the list is fetched
// again and the call repeated, once. It was refused, so nothing is done twice.
func (c *Client) caller(p CallParams) sender {
	send := c.followed(p.show, func(ctx context.Context, meta mcp.Meta) (mcp.Meta, error) {
		params := &mcp.CallToolParams{Name: p.Name, Arguments: p.Args, Meta: mcp.Meta{}}
		if p.Args == nil {
			params.Arguments = json.RawMessage("{}")
		}
		for _, m := range []map[string]any{p.Meta, meta} {
			maps.Copy(params.Meta, m)
		}
		r, err := c.session.CallTool(ctx, params)
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	})
	return func(ctx context.Context, l *limit, meta mcp.Meta) (mcp.Meta, error) {
		got, err := send(ctx, l, meta)
		if !c.conn.mismatched(err) {
			return got, err
		}
		c.log.Info("server misses headers; its tools are listed again", "server", c.server.Name, "tool", p.Name)
		c.conn.cache.drop(Change{Kind: ChangedTools})
		if _, listErr := c.Tools(ctx); listErr != nil {
			return nil, errors.Join(err, listErr)
		}
		return send(ctx, l, meta)
	}
}
