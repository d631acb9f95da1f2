package acp

import "encoding/json"

// ContentBlock is a piece of a message: [TextContent], [ImageContent], [AudioContent], [ResourceLink],
// [EmbeddedResource] or [RawContent].
//
//sumtype:decl
type ContentBlock interface{ contentBlock() }

// ContentBlocks is a list of pieces.
type ContentBlocks []ContentBlock

// TextContent is text, plain or Markdown.
type TextContent struct {
	Annotations *Annotations               `json:"annotations,omitzero" acp:"lenient"`
	Text        string                     `json:"text"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ImageContent is a picture. Data is base64, as on the wire.
type ImageContent struct {
	Annotations *Annotations               `json:"annotations,omitzero" acp:"lenient"`
	Data        string                     `json:"data"`
	MIMEType    string                     `json:"mimeType"`
	URI         *string                    `json:"uri,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AudioContent is sound. Data is base64, as on the wire.
type AudioContent struct {
	Annotations *Annotations               `json:"annotations,omitzero" acp:"lenient"`
	Data        string                     `json:"data"`
	MIMEType    string                     `json:"mimeType"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ResourceLink points at something the agent can read by itself.
type ResourceLink struct {
	Annotations *Annotations               `json:"annotations,omitzero" acp:"lenient"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	MIMEType    string                     `json:"mimeType,omitzero" acp:"lenient"`
	Name        string                     `json:"name"`
	Size        *int64                     `json:"size,omitzero" acp:"lenient"`
	Title       string                     `json:"title,omitzero" acp:"lenient"`
	URI         string                     `json:"uri"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// EmbeddedResource holds the contents of a resource.
type EmbeddedResource struct {
	Annotations *Annotations               `json:"annotations,omitzero" acp:"lenient"`
	Resource    ResourceContents           `json:"resource"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawContent is a piece of a type this package does not know.
type RawContent struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (TextContent) contentBlock()      {}
func (ImageContent) contentBlock()     {}
func (AudioContent) contentBlock()     {}
func (ResourceLink) contentBlock()     {}
func (EmbeddedResource) contentBlock() {}
func (RawContent) contentBlock()       {}

// ResourceContents is what a resource holds: [TextResourceContents] or [BlobResourceContents].
//
//sumtype:decl
type ResourceContents interface{ resourceContents() }

// TextResourceContents is a resource that is text.
type TextResourceContents struct {
	MIMEType string                     `json:"mimeType,omitzero" acp:"lenient"`
	Text     string                     `json:"text"`
	URI      string                     `json:"uri"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// BlobResourceContents is a resource that is not text. Blob is base64, as on the wire.
type BlobResourceContents struct {
	Blob     string                     `json:"blob"`
	MIMEType string                     `json:"mimeType,omitzero" acp:"lenient"`
	URI      string                     `json:"uri"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

func (TextResourceContents) resourceContents() {}
func (BlobResourceContents) resourceContents() {}

// Annotations say for whom content is and how much it matters. LastModified is a time in ISO 8601.
type Annotations struct {
	Audience     []Role                     `json:"audience,omitzero" acp:"lenient,skip"`
	LastModified string                     `json:"lastModified,omitzero" acp:"lenient"`
	Priority     *float64                   `json:"priority,omitzero" acp:"lenient"`
	Meta         map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
