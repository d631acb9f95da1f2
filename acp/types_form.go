package acp

import "encoding/json"

// ElicitationSchema is a form: an object whose properties are all flat.
type ElicitationSchema struct {
	Type        ElicitationSchemaType                `json:"type,omitzero" acp:"lenient"`
	Title       string                               `json:"title,omitzero" acp:"lenient"`
	Properties  map[string]ElicitationPropertySchema `json:"properties,omitzero"`
	Required    []string                             `json:"required,omitzero"`
	Description string                               `json:"description,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage           `json:"_meta,omitempty" acp:"lenient"`
}

// ElicitationSchemaType is the type of a form. The empty one means the only one, [SchemaObject].
type ElicitationSchemaType string

// SchemaObject is the type of every form.
const SchemaObject ElicitationSchemaType = "object"

func (t ElicitationSchemaType) known() bool { return t == SchemaObject }

// ElicitationPropertySchema is a field of a form: [StringPropertySchema], [NumberPropertySchema],
// [IntegerPropertySchema], [BooleanPropertySchema], [MultiSelectPropertySchema] or [RawPropertySchema].
//
//sumtype:decl
type ElicitationPropertySchema interface{ elicitationPropertySchema() }

// StringPropertySchema is a text field, or a choice of one if Enum or OneOf is set.
type StringPropertySchema struct {
	Title       string                     `json:"title,omitzero" acp:"lenient"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	MinLength   *uint32                    `json:"minLength,omitzero"`
	MaxLength   *uint32                    `json:"maxLength,omitzero"`
	Pattern     string                     `json:"pattern,omitzero"`
	Format      StringFormat               `json:"format,omitzero"`
	Default     *string                    `json:"default,omitzero" acp:"lenient"`
	Enum        []string                   `json:"enum,omitzero"`
	OneOf       []EnumOption               `json:"oneOf,omitzero"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// NumberPropertySchema is a field for a number.
type NumberPropertySchema struct {
	Title       string                     `json:"title,omitzero" acp:"lenient"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Minimum     *float64                   `json:"minimum,omitzero"`
	Maximum     *float64                   `json:"maximum,omitzero"`
	Default     *float64                   `json:"default,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// IntegerPropertySchema is a field for a whole number.
type IntegerPropertySchema struct {
	Title       string                     `json:"title,omitzero" acp:"lenient"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Minimum     *int64                     `json:"minimum,omitzero"`
	Maximum     *int64                     `json:"maximum,omitzero"`
	Default     *int64                     `json:"default,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// BooleanPropertySchema is a yes or no.
type BooleanPropertySchema struct {
	Title       string                     `json:"title,omitzero" acp:"lenient"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Default     *bool                      `json:"default,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// MultiSelectPropertySchema is a choice of many.
type MultiSelectPropertySchema struct {
	Title       string                     `json:"title,omitzero" acp:"lenient"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	MinItems    *uint64                    `json:"minItems,omitzero"`
	MaxItems    *uint64                    `json:"maxItems,omitzero"`
	Items       MultiSelectItems           `json:"items"`
	Default     []string                   `json:"default,omitzero" acp:"lenient,skip"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawPropertySchema is a field of a type this package does not know.
type RawPropertySchema struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (StringPropertySchema) elicitationPropertySchema()      {}
func (NumberPropertySchema) elicitationPropertySchema()      {}
func (IntegerPropertySchema) elicitationPropertySchema()     {}
func (BooleanPropertySchema) elicitationPropertySchema()     {}
func (MultiSelectPropertySchema) elicitationPropertySchema() {}
func (RawPropertySchema) elicitationPropertySchema()         {}

// StringFormat says what a text field is to hold. One this package does not know is kept as it came.
type StringFormat string

// The formats.
const (
	FormatEmail    StringFormat = "email"
	FormatURI      StringFormat = "uri"
	FormatDate     StringFormat = "date"
	FormatDateTime StringFormat = "date-time"
)

// EnumOption is a value of a choice with what to show for it.
type EnumOption struct {
	Const       string                     `json:"const"`
	Title       string                     `json:"title"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// MultiSelectItems is what can be chosen of many: [StringMultiSelectItems], [TitledMultiSelectItems] or
// [RawMultiSelectItems].
//
//sumtype:decl
type MultiSelectItems interface{ multiSelectItems() }

// StringMultiSelectItems is a list of values that are shown as they are.
type StringMultiSelectItems struct {
	Enum []string                   `json:"enum"`
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// TitledMultiSelectItems is a list of values with what to show for each.
type TitledMultiSelectItems struct {
	AnyOf []EnumOption               `json:"anyOf"`
	Meta  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawMultiSelectItems is a list of values of a type this package does not know.
type RawMultiSelectItems struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (StringMultiSelectItems) multiSelectItems() {}
func (TitledMultiSelectItems) multiSelectItems() {}
func (RawMultiSelectItems) multiSelectItems()    {}
