package agent

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// blockOf is a content block of a prompt as the loop has it. Nothing is lost: what cannot be read is kept as it came.
func blockOf(b acp.ContentBlock) loop.Block {
	switch v := b.(type) {
	case acp.TextContent:
		return loop.Text{Text: v.Text}
	case acp.ImageContent:
		if data, err := base64.StdEncoding.DecodeString(v.Data); err == nil {
			img := loop.Image{Data: data, MIME: v.MIMEType}
			if v.URI != nil {
				img.URI = *v.URI
			}
			return img
		}
		return other("image", v)
	case acp.AudioContent:
		if data, err := base64.StdEncoding.DecodeString(v.Data); err == nil {
			return loop.Audio{Data: data, MIME: v.MIMEType}
		}
		return other("audio", v)
	case acp.ResourceLink:
		l := loop.Link{URI: v.URI, Name: v.Name, Title: v.Title, Description: v.Description, MIME: v.MIMEType}
		if v.Size != nil {
			l.Size = *v.Size
		}
		return l
	case acp.EmbeddedResource:
		return resourceOf(v)
	case acp.RawContent:
		return loop.Other{Type: v.Type, Raw: v.Raw}
	}
	return other("unknown", b)
}

func resourceOf(r acp.EmbeddedResource) loop.Block {
	switch v := r.Resource.(type) {
	case acp.TextResourceContents:
		return loop.Resource{URI: v.URI, MIME: v.MIMEType, Text: v.Text}
	case acp.BlobResourceContents:
		if data, err := base64.StdEncoding.DecodeString(v.Blob); err == nil {
			return loop.Resource{URI: v.URI, MIME: v.MIMEType, Blob: data}
		}
	}
	return other("resource", r)
}

func other(kind string, v any) loop.Block {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = json.RawMessage("null")
	}
	return loop.Other{Type: kind, Raw: raw}
}

// wireBlock is a content block as ACP has it. Diffs and terminals are no content blocks there; see contentsOf.
func wireBlock(b loop.Block) acp.ContentBlock {
	switch v := b.(type) {
	case loop.Text:
		return acp.TextContent{Text: v.Text}
	case loop.Thought:
		return acp.TextContent{Text: v.Text}
	case loop.Image:
		img := acp.ImageContent{Data: base64.StdEncoding.EncodeToString(v.Data), MIMEType: v.MIME}
		if v.URI != "" {
			img.URI = &v.URI
		}
		return img
	case loop.Audio:
		return acp.AudioContent{Data: base64.StdEncoding.EncodeToString(v.Data), MIMEType: v.MIME}
	case loop.Link:
		l := acp.ResourceLink{URI: v.URI, Name: v.Name, Title: v.Title, Description: v.Description, MIMEType: v.MIME}
		if v.Size > 0 {
			l.Size = &v.Size
		}
		return l
	case loop.Resource:
		if v.Blob != nil {
			blob := base64.StdEncoding.EncodeToString(v.Blob)
			return acp.EmbeddedResource{Resource: acp.BlobResourceContents{URI: v.URI, MIMEType: v.MIME, Blob: blob}}
		}
		return acp.EmbeddedResource{Resource: acp.TextResourceContents{URI: v.URI, MIMEType: v.MIME, Text: v.Text}}
	case loop.Other: // a type that clients of version 1 do not know either
		return acp.TextContent{Text: "[content of type " + v.Type + "]"}
	case loop.Diff, loop.Terminal, loop.Plan:
	}
	return acp.TextContent{}
}

// traceOf is the trace context in a prompt's _meta, as far as it can stand in a header.
func traceOf(meta map[string]json.RawMessage) loop.Trace {
	var out loop.Trace
	for _, name := range []string{"traceparent", "tracestate", "baggage"} {
		var value string
		if json.Unmarshal(meta[name], &value) != nil || value == "" || len(value) > 8192 {
			continue
		}
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
			continue
		}
		if out == nil {
			out = make(loop.Trace)
		}
		out[name] = value
	}
	return out
}
