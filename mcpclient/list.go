package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cartagent/cartagent/loop"
)

// The bounds of a list that never ends.
const (
	maxPages  = 1000
	maxListed = 16 << 20 // bytes of its pages
)

// pager asks for one page of a list.
type pager func(ctx context.Context, cursor string) (mcp.Meta, error)

// listing is a list of a server's, whose entries are under a key of its pages.
type listing struct {
	key  string
	kind ChangeKind
	page pager
}

// list reads all pages of a list. A page that fails is asked for once more; if it fails again, or the server tells of a
// change on the way, the list is begun anew, once. Then a failure is an error, never a short list.
func (c *Client) list(ctx context.Context, l listing) ([]json.RawMessage, error) {
	for again := false; ; again = true {
		age := c.conn.cache.age(l.kind)
		all, err := c.pages(ctx, l)
		changed := c.conn.cache.age(l.kind) != age
		var rpc *RPCError
		switch {
		case err == nil && changed && again:
			c.log.Warn("server changes a list faster than it can be read", "server", c.server.Name, "list", l.key)
			return all, nil
		case err == nil && !changed:
			return all, nil
		case err != nil && (again || !changed && (!errors.As(err, &rpc) || all == nil)):
			return nil, fmt.Errorf("listing the %s: %w", l.key, err)
		}
		c.conn.cache.drop(Change{Kind: l.kind})
	}
}

// pages reads the pages one after the other. With an error it gives what it had until then.
func (c *Client) pages(ctx context.Context, l listing) ([]json.RawMessage, error) {
	var all []json.RawMessage
	seen := map[string]bool{}
	cursor, size := "", 0
	for range maxPages {
		raw, err := c.onePage(ctx, l, cursor)
		if err != nil {
			return all, err
		}
		var p map[string]json.RawMessage
		if err := json.Unmarshal(raw, &p); err != nil {
			return all, fmt.Errorf("server %s: %w: %w", c.server.Name, ErrInvalid, err)
		}
		var entries []json.RawMessage
		if json.Unmarshal(p[l.key], &entries) != nil {
			return all, fmt.Errorf("server %s: %w: a page has no list of %s", c.server.Name, ErrInvalid, l.key)
		}
		all = append(all, entries...)
		size += len(raw)
		var next *string
		if json.Unmarshal(p["nextCursor"], &next) != nil || next == nil {
			return all, nil //nolint:nilerr // a cursor that is none is the end of the list
		}
		if size >= maxListed {
			c.warnOnce("server has a list that is too large; it ends here", "list", l.key)
			return all, nil
		}
		if seen[*next] {
			c.warnOnce("server repeats a page of a list; the list ends here", "list", l.key)
			return all, nil
		}
		seen[*next] = true
		if cursor = *next; cursor == "" {
			cursor = emptyCursor
		}
	}
	c.warnOnce("server has a list without end; the list ends here", "list", l.key)
	return all, nil
}

// onePage gives a page, as it was kept or as the server has it now. Each page has its own time.
func (c *Client) onePage(ctx context.Context, l listing, cursor string) (json.RawMessage, error) {
	key := l.key + " " + cursor
	if raw, ok := c.conn.cache.get(key); ok {
		return raw, nil
	}
	about := Change{Kind: l.kind}
	age := c.conn.cache.age(l.kind)
	ask := func(ctx context.Context) (mcp.Meta, error) { return l.page(ctx, cursor) }
	raw, err := c.request(ctx, ask)
	if _, ok := errors.AsType[*RPCError](err); ok {
		raw, err = c.request(ctx, ask)
	}
	if err != nil {
		return nil, err
	}
	if ttl, ok := c.holds(about, raw); ok {
		c.conn.cache.put(key, about, raw, age, ttl)
	}
	return raw, nil
}

// maxTold bounds the warnings about one server's lists.
const maxTold = 1000

// warnOnce logs what is wrong with a server's lists, each thing once: lists are read again and again.
func (c *Client) warnOnce(message string, details ...any) {
	key := fmt.Sprint(append([]any{message}, details...)...)
	c.toldMu.Lock()
	told := c.told[key] || len(c.told) >= maxTold
	if c.told == nil {
		c.told = map[string]bool{}
	}
	if !told {
		c.told[key] = true
	}
	c.toldMu.Unlock()
	if !told {
		c.log.Warn(message, append([]any{"server", c.server.Name}, details...)...)
	}
}

// Tools lists the server's tools, all pages of them, in its order. A tool that cannot be used is left out, with a
// warning in the log; the rest work. One that Server.Allow and Deny leave out is left out silently. A server without
// tools gives none. A list that still holds is not asked for again.
func (c *Client) Tools(ctx context.Context) ([]loop.Tool, error) {
	entries, err := c.list(ctx, listing{"tools", ChangedTools, func(ctx context.Context, cursor string) (mcp.Meta, error) {
		r, err := c.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	}})
	var rpc *RPCError
	if errors.As(err, &rpc) && c.session.InitializeResult().Capabilities.Tools == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var tools []loop.Tool
	names := map[string]bool{}
	for _, raw := range entries {
		if !c.server.offers(toolName(raw)) {
			continue
		}
		t, err := c.tool(raw)
		if err == nil && names[t.spec.Name] {
			err = errors.New("another tool has its name")
		}
		if err != nil {
			c.warnOnce("tool left out", "tool", nameOf(raw), "err", err)
			continue
		}
		names[t.spec.Name] = true
		tools = append(tools, t)
	}
	return tools, nil
}

// toolName is the name in an entry of tools/list; empty where there is none to be read.
func toolName(raw json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &t) != nil {
		return ""
	}
	return t.Name
}

func nameOf(raw json.RawMessage) string {
	return cmp.Or(printable(toolName(raw), 128), "?")
}

// Resource describes a resource, without its content.
type Resource = loop.Link

// Resources lists the server's resources, all pages of them, in its order. A server without resources gives none.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	entries, err := c.list(ctx, listing{"resources", ChangedResources, func(ctx context.Context, cursor string) (mcp.Meta, error) {
		r, err := c.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	}})
	if c.hasNone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Resource
	for _, raw := range entries {
		link, err := decodeLink(raw)
		if err != nil {
			c.warnOnce("resource left out", "err", err)
			continue
		}
		out = append(out, link)
	}
	return out, nil
}

// hasNone says whether a server that never said it had resources has refused to list them.
func (c *Client) hasNone(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && c.session.InitializeResult().Capabilities.Resources == nil
}

// Template describes resources whose URIs follow a pattern, such as menu://{day}: RFC 6570.
type Template struct {
	URI, Name, Title, Description, MIME string
}

// Templates lists the server's templates of resources, all pages of them, in its order. A server that has none, or does
// not know what they are, gives none.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	entries, err := c.list(ctx, listing{"resourceTemplates", ChangedResources, func(ctx context.Context, cursor string) (mcp.Meta, error) {
		r, err := c.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	}})
	var rpc *RPCError
	if errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound || c.hasNone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Template
	for _, raw := range entries {
		var t struct {
			URI         string `json:"uriTemplate"`
			Name        string `json:"name"`
			Title       string `json:"title"`
			Description string `json:"description"`
			MIME        string `json:"mimeType"`
		}
		if err := json.Unmarshal(raw, &t); err != nil || t.URI == "" {
			c.warnOnce("template of resources left out", "err", errors.Join(err, errors.New("it has no uriTemplate")))
			continue
		}
		out = append(out, Template(t))
	}
	return out, nil
}

// decodeLink reads a resource as lists and resource_link blocks have it.
func decodeLink(raw json.RawMessage) (loop.Link, error) {
	var r struct {
		URI         string  `json:"uri"`
		Name        string  `json:"name"`
		Title       string  `json:"title"`
		Description string  `json:"description"`
		MIME        string  `json:"mimeType"`
		Size        float64 `json:"size"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return loop.Link{}, fmt.Errorf("decoding a resource: %w", err)
	}
	if r.URI == "" {
		return loop.Link{}, errors.New("decoding a resource: it has no uri")
	}
	return loop.Link{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIME: r.MIME, Size: int64(r.Size),
	}, nil
}
