package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cartagent/cartagent/loop"
)

// maxPages bounds a list that never ends.
const maxPages = 1000

// pager asks for one page of a list.
type pager func(ctx context.Context, cursor string) (mcp.Meta, error)

// list reads all pages of a list, whose entries are under key. A page that fails is asked for once more; if it fails
// again the list is begun anew, once; then it is an error, never a short list.
func (c *Client) list(ctx context.Context, key string, page pager) ([]json.RawMessage, error) {
	all, err := c.pages(ctx, key, page)
	var rpc *RPCError
	if errors.As(err, &rpc) && all != nil {
		all, err = c.pages(ctx, key, page)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the %s: %w", key, err)
	}
	return all, nil
}

// pages reads the pages one after the other. With an error it gives what it had until then.
func (c *Client) pages(ctx context.Context, key string, page pager) ([]json.RawMessage, error) {
	var all []json.RawMessage
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		ask := func(ctx context.Context) (mcp.Meta, error) { return page(ctx, cursor) }
		raw, err := c.request(ctx, ask)
		if _, ok := errors.AsType[*RPCError](err); ok {
			raw, err = c.request(ctx, ask)
		}
		if err != nil {
			return all, err
		}
		var p map[string]json.RawMessage
		if err := json.Unmarshal(raw, &p); err != nil {
			return all, fmt.Errorf("server %s: %w: %w", c.server.Name, ErrInvalid, err)
		}
		var entries []json.RawMessage
		if json.Unmarshal(p[key], &entries) != nil {
			return all, fmt.Errorf("server %s: %w: a page has no list of %s", c.server.Name, ErrInvalid, key)
		}
		all = append(all, entries...)
		var next *string
		if json.Unmarshal(p["nextCursor"], &next) != nil || next == nil {
			return all, nil //nolint:nilerr // a cursor that is none is the end of the list
		}
		if seen[*next] {
			c.log.Warn("server repeats a page of a list; the list ends here", "server", c.server.Name, "list", key)
			return all, nil
		}
		seen[*next] = true
		if cursor = *next; cursor == "" {
			cursor = emptyCursor
		}
	}
	c.log.Warn("server has a list without end; the list ends here", "server", c.server.Name, "list", key)
	return all, nil
}

// Tools lists the server's tools, all pages of them, in its order. A tool that cannot be used is left out, with a
// warning in the log; the rest work. One that Server.Allow and Deny leave out is left out silently. A server without
// tools gives none.
func (c *Client) Tools(ctx context.Context) ([]loop.Tool, error) {
	entries, err := c.list(ctx, "tools", func(ctx context.Context, cursor string) (mcp.Meta, error) {
		r, err := c.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	})
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
			c.log.Warn("tool left out", "server", c.server.Name, "tool", nameOf(raw), "err", err)
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
	entries, err := c.list(ctx, "resources", func(ctx context.Context, cursor string) (mcp.Meta, error) {
		r, err := c.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		return r.Meta, nil
	})
	var rpc *RPCError
	if errors.As(err, &rpc) && c.session.InitializeResult().Capabilities.Resources == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Resource
	for _, raw := range entries {
		link, err := decodeLink(raw)
		if err != nil {
			c.log.Warn("resource left out", "server", c.server.Name, "err", err)
			continue
		}
		out = append(out, link)
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
