package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/cartagent/cartagent/loop"
)

// decodeResult makes a loop.Result of a tools/call result. Nothing of it vanishes: content of a kind that is not known
// is kept as loop.Other, structured content reaches the model as text unless the content says the same already, and what is
// wholly empty is named.
func decodeResult(raw json.RawMessage) (loop.Result, error) {
	var d struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return loop.Result{}, fmt.Errorf("%w: the result of a tool: %w", ErrInvalid, err)
	}
	var parts []json.RawMessage
	if d.Content != nil && json.Unmarshal(d.Content, &parts) != nil {
		return loop.Result{}, fmt.Errorf("%w: a tool's content is no list", ErrInvalid)
	}
	// RawMessage takes null for a value of its own, which is what structuredContent may be.
	res := loop.Result{Raw: d.Structured, Failed: d.IsError}
	for _, p := range parts {
		res.Content = append(res.Content, decodeBlock(p))
	}
	switch repeats := d.Structured != nil && said(res.Content, d.Content, d.Structured); {
	case d.Structured != nil && !repeats:
		res.Content = append(res.Content, loop.Text{Text: string(d.Structured)})
	case repeats && string(d.Structured) != "null" && !hasText(res.Content): // else models are shown Raw in place of a text
		res.Content = append(res.Content, loop.Text{Text: "(The structured content is the same.)"})
	}
	if len(res.Content) == 0 {
		text := "The tool has answered with nothing."
		if d.IsError {
			text = "The tool failed and did not say why."
		}
		res.Content = loop.Blocks{loop.Text{Text: text}}
	}
	return res, nil
}

// said is whether structured says nothing that the content does not: it is the same JSON value as one of the texts, or an
// object of nothing but whole texts and the list of content itself.
func said(blocks loop.Blocks, content, structured json.RawMessage) bool {
	want, err := exact(structured)
	if err != nil {
		return false
	}
	if want == nil && len(blocks) > 0 {
		return true // null adds nothing to content
	}
	texts := map[string]bool{}
	for _, b := range blocks {
		t, ok := b.(loop.Text)
		if !ok {
			continue
		}
		texts[t.Text] = true
		if got, err := exact([]byte(t.Text)); err == nil && reflect.DeepEqual(got, want) {
			return true
		}
	}
	repeats := func(v any) bool {
		switch v := v.(type) {
		case string:
			return texts[v]
		case []any:
			list, err := exact(content)
			return err == nil && reflect.DeepEqual(list, any(v))
		}
		return false
	}
	members, ok := want.(map[string]any)
	if !ok {
		return repeats(want)
	}
	for _, v := range members {
		if !repeats(v) {
			return false
		}
	}
	return len(members) > 0
}

func hasText(blocks loop.Blocks) bool {
	return slices.ContainsFunc(blocks, func(b loop.Block) bool {
		_, ok := b.(loop.Text)
		return ok
	})
}

// exact decodes JSON without rounding its numbers.
func exact(data []byte) (any, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("%w: no JSON", ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// decodeBlock makes a block of one part of content. It never fails: what does not fit its own type is an Other.
func decodeBlock(raw json.RawMessage) loop.Block {
	var d struct {
		Type     string          `json:"type"`
		Text     *string         `json:"text"`
		Data     []byte          `json:"data"`
		MIME     string          `json:"mimeType"`
		Resource json.RawMessage `json:"resource"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		var head struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &head) // without a type it is of an unknown one
		return loop.Other{Type: head.Type, Raw: raw}
	}
	switch {
	case d.Type == "text" && d.Text != nil:
		return loop.Text{Text: *d.Text}
	case d.Type == "image" && d.Data != nil:
		return loop.Image{Data: d.Data, MIME: d.MIME}
	case d.Type == "audio" && d.Data != nil:
		return loop.Audio{Data: d.Data, MIME: d.MIME}
	case d.Type == "resource_link":
		if link, err := decodeLink(raw); err == nil {
			return link
		}
	case d.Type == "resource":
		if r, err := decodeContents(d.Resource); err == nil {
			return r
		}
	}
	return loop.Other{Type: d.Type, Raw: raw}
}

// decodeContents reads a resource with its content.
func decodeContents(raw json.RawMessage) (loop.Resource, error) {
	var r struct {
		URI  string  `json:"uri"`
		MIME string  `json:"mimeType"`
		Text *string `json:"text"`
		Blob []byte  `json:"blob"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return loop.Resource{}, fmt.Errorf("%w: the content of a resource: %w", ErrInvalid, err)
	}
	out := loop.Resource{URI: r.URI, MIME: r.MIME}
	switch {
	case r.Text != nil:
		out.Text = *r.Text
	case r.Blob != nil:
		out.Blob = r.Blob
	default:
		return loop.Resource{}, fmt.Errorf("%w: a resource has neither text nor blob", ErrInvalid)
	}
	return out, nil
}
