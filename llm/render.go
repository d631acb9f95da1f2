package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// Render puts a block into text: text and resources as they are, everything else named in a line, so nothing that a
// person or a tool gave vanishes without a word. Thoughts and plans are the empty string.
func Render(b loop.Block) string {
	switch b := b.(type) {
	case loop.Text:
		return b.Text
	case loop.Link:
		return renderLink(b)
	case loop.Resource:
		if b.Blob != nil {
			return named(orBinary(b.MIME), len(b.Blob)) + " from " + b.URI
		}
		return renderResource(b)
	case loop.Image:
		line := named(orKind(b.MIME, "image"), len(b.Data))
		if b.URI != "" {
			line += " from " + b.URI
		}
		return line
	case loop.Audio:
		return named(orKind(b.MIME, "audio"), len(b.Data))
	case loop.Diff:
		return named("diff", len(b.New)) + " of " + b.Path
	case loop.Terminal:
		return named("terminal", 0) + " with id " + b.ID
	case loop.Other:
		return named(orKind(b.Type, "unknown"), len(b.Raw))
	case loop.Thought, loop.Plan:
	}
	return ""
}

// RenderAll joins the rendered blocks, with an empty line between them.
func RenderAll(blocks loop.Blocks) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if s := Render(b); strings.TrimSpace(s) != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n")
}

func named(kind string, size int) string {
	if size == 0 {
		return "[1 " + kind + " block, not forwardable to this model]"
	}
	return "[1 " + kind + " block, " + bytesText(int64(size)) + ", not forwardable to this model]"
}

func bytesText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func orKind(s, kind string) string {
	if s == "" {
		return kind
	}
	return s
}

func orBinary(mime string) string { return orKind(mime, "binary resource") }

func renderLink(l loop.Link) string {
	name := l.Name
	if l.Title != "" {
		name = l.Title
	}
	var facts []string
	if l.MIME != "" {
		facts = append(facts, l.MIME)
	}
	if l.Size > 0 {
		facts = append(facts, bytesText(l.Size))
	}
	line := "[resource link"
	if name != "" {
		line += " " + name
	}
	line += ": " + l.URI
	if len(facts) > 0 {
		line += " (" + strings.Join(facts, ", ") + ")"
	}
	line += "]"
	if l.Description != "" {
		line += " " + l.Description
	}
	return line
}

func renderResource(r loop.Resource) string {
	head := "<resource uri=" + fmt.Sprintf("%q", r.URI)
	if r.MIME != "" {
		head += " mime=" + fmt.Sprintf("%q", r.MIME)
	}
	return head + ">\n" + r.Text + "\n</resource>"
}

// Picture returns a block as an image that models take: of at most limit bytes, and truly of the type that it is
// declared as, since providers refuse a request, and with it the whole conversation, for one image that is not.
func Picture(b loop.Block, limit int) (loop.Image, bool) {
	var img loop.Image
	switch b := b.(type) {
	case loop.Image:
		img = b
	case loop.Resource:
		img = loop.Image{Data: b.Blob, MIME: b.MIME, URI: b.URI}
	case loop.Text, loop.Thought, loop.Audio, loop.Link, loop.Diff, loop.Terminal, loop.Plan, loop.Other:
		return loop.Image{}, false
	}
	if len(img.Data) == 0 || len(img.Data) > limit {
		return loop.Image{}, false
	}
	img.MIME = http.DetectContentType(img.Data)
	known := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	return img, slices.Contains(known, img.MIME)
}

// Object returns raw if it is a JSON object, and else {}.
func Object(raw json.RawMessage) json.RawMessage {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '{' && json.Valid(t) {
		return t
	}
	return json.RawMessage("{}")
}
