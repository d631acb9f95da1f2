package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cartagent/cartagent/loop"
)

// ReadResource reads a resource: one block for each part of it, at least one. A resource that is not there is an error.
// What still holds, as the server has said, is not asked for again.
func (c *Client) ReadResource(ctx context.Context, uri string) (loop.Blocks, error) {
	raw, err := c.contents(ctx, uri, false, func(ctx context.Context, send showing) (json.RawMessage, error) {
		return c.rounds(ctx, true, send(nil))
	})
	return c.decodeRead(uri, raw, err)
}

// readFor is ReadResource for a call of the loop's, which shows progress by report. What the server wants to know first goes
// to the loop, as it does for a tool.
func (c *Client) readFor(ctx context.Context, j loop.Job, uri string, report func(loop.Block)) (loop.Blocks, error) {
	shows := newReporter(report)
	raw, err := c.contents(ctx, uri, len(j.Answers) > 0, func(ctx context.Context, send showing) (json.RawMessage, error) {
		return c.play(ctx, j, task{safe: true, send: send}, shows)
	})
	shows.stop()
	return c.decodeRead(uri, raw, err)
}

// decodeRead makes blocks of the result of resources/read.
func (c *Client) decodeRead(uri string, raw json.RawMessage, err error) (loop.Blocks, error) {
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", printable(uri, 200), err)
	}
	var d struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("reading %s: server %s: %w: %w", printable(uri, 200), c.Name(), ErrInvalid, err)
	}
	if len(d.Contents) == 0 {
		return nil, fmt.Errorf("reading %s: server %s has nothing there", printable(uri, 200), c.Name())
	}
	var out loop.Blocks
	for _, part := range d.Contents {
		r, err := decodeContents(part)
		if err != nil {
			return nil, fmt.Errorf("reading %s: server %s: %w", printable(uri, 200), c.Name(), err)
		}
		out = append(out, r)
	}
	return out, nil
}

// contents gives the result of resources/read, as it was kept or as get has it made now. late says that it has been asked
// for before, and goes on with an answer of the person's.
func (c *Client) contents(
	ctx context.Context, uri string, late bool, get func(context.Context, showing) (json.RawMessage, error),
) (json.RawMessage, error) {
	key, about := "resource "+uri, Change{Kind: ChangedResource, URI: uri}
	if raw, ok := c.conn.cache.get(key); ok && !late {
		return raw, nil
	}
	age := c.conn.cache.age(ChangedResource)
	rounds := 0
	raw, err := get(ctx, func(show func(string)) sender {
		return c.followed(show, func(ctx context.Context, meta mcp.Meta) (mcp.Meta, error) {
			rounds++
			r, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri, Meta: meta})
			if err != nil {
				return nil, err
			}
			return r.Meta, nil
		})
	})
	if err != nil {
		return nil, err
	}
	// What came of a second request may rest on what the person has answered, and is not kept.
	if ttl, ok := c.holds(about, raw); ok && rounds == 1 && !late {
		c.conn.cache.put(key, about, raw, age, ttl)
	}
	c.follow(uri) //nolint:contextcheck // until the client is closed
	return raw, nil
}

// readTool is the tool mcp_read.
type readTool struct {
	clients func() map[string]*Client
}

// ReadTool is the tool mcp_read {server, uri}, by which a model reads resources of the servers that clients returns,
// by name. It is asked anew for each call, so servers may come late.
func ReadTool(clients func() map[string]*Client) loop.Tool { return &readTool{clients: clients} }

// Spec is loop.Tool's.
func (t *readTool) Spec() loop.Spec {
	return loop.Spec{
		Name:  "mcp_read",
		Title: "Read a resource",
		Description: "Reads a resource of an MCP server, such as menu://today. The server is the part before \"__\" in the " +
			"names of its tools. A uri that is not known answers with a list of those that are.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"server":{"type":"string","description":"the server's name"},` +
			`"uri":{"type":"string","description":"the resource's uri"}},` +
			`"required":["server","uri"],"additionalProperties":false}`),
		Kind: loop.KindRead, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}
}

type readArgs struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

func (t *readTool) find(c loop.Call) (*Client, readArgs, error) {
	var args readArgs
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, args, fmt.Errorf("the arguments of mcp_read are server and uri, both strings: %w", err)
	}
	clients := t.clients()
	names := slices.Sorted(maps.Keys(clients))
	if server, ok := Meant(names, args.Server); ok {
		return clients[server], args, nil
	}
	if len(names) == 0 {
		return nil, args, errors.New("no MCP server is connected")
	}
	return nil, args, fmt.Errorf("no MCP server is called %.100q; there are: %s", args.Server, strings.Join(names, ", "))
}

// Preview is loop.Tool's.
func (t *readTool) Preview(_ context.Context, c loop.Call) (loop.Preview, error) {
	client, args, err := t.find(c)
	if err != nil {
		return loop.Preview{}, err
	}
	return loop.Preview{Title: printable("Read "+args.URI, 150) + " (" + client.Name() + ")"}, nil
}

// Run is loop.Tool's.
func (t *readTool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	client, args, err := t.find(j.Call)
	if err != nil {
		return loop.Result{}, err
	}
	blocks, err := client.readFor(ctx, j, args.URI, report)
	if NoResource(err) {
		return loop.Result{}, fmt.Errorf("%w%s", err, known(ctx, client))
	}
	if err != nil {
		return loop.Result{}, client.signed(err) // the tool's name has no server's in it
	}
	return loop.Result{CallID: j.Call.ID, Content: Fitted(blocks)}, nil
}

// codeResourceNotFound is what servers before revision 2026-07-28 answer for a resource that they do not have; newer ones
// say that the params are invalid.
const codeResourceNotFound = -32002

// NoResource says whether an error of ReadResource means that the server has no such resource.
func NoResource(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && (rpc.Code == jsonrpc.CodeInvalidParams || rpc.Code == codeResourceNotFound)
}

// maxAside is how long an error waits for what else could be said.
const maxAside = 5 * time.Second

// maxKnown bounds the list of resources in an error.
const maxKnown = 30

// known lists the resources of a server for a model that asked for another.
func known(ctx context.Context, c *Client) string {
	ctx, cancel := context.WithTimeout(ctx, maxAside)
	defer cancel()
	text := "; it lists no resources"
	list, err := c.Resources(ctx)
	if err == nil && len(list) > 0 {
		var uris []string
		for _, r := range list[:min(len(list), maxKnown)] {
			uris = append(uris, printable(r.URI, 200))
		}
		text = "; its resources are: " + some(uris, len(list))
	}
	templates, err := c.Templates(ctx)
	if err != nil || len(templates) == 0 {
		return text
	}
	var uris []string
	for _, t := range templates[:min(len(templates), maxKnown)] {
		uris = append(uris, printable(t.URI, 200)+c.offers(ctx, t))
	}
	return text + "; there are others by these templates: " + some(uris, len(templates))
}

// some joins the first of so many.
func some(list []string, of int) string {
	text := strings.Join(list, ", ")
	if more := of - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

var firstVariable = regexp.MustCompile(`\{[+#./;?&]?([A-Za-z0-9_.%]+)`)

// offers says which values the first variable of a template may have, where the server says so.
func (c *Client) offers(ctx context.Context, t Template) string {
	m := firstVariable.FindStringSubmatch(t.URI)
	if m == nil {
		return ""
	}
	return c.suggest(ctx, Completion{Template: t.URI, Argument: m[1]})
}
