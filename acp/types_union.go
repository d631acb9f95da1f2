package acp

import (
	"encoding/json"
	"reflect"
	"sync"
)

// union is how the variants of a sealed interface are told apart on the wire.
type union struct {
	key      string                                           // the member that names the variant; "" if there is none
	variants []variant                                        // in the schema's order
	bare     reflect.Type                                     // the variant without a name; nil if the name is required
	rest     reflect.Type                                     // the variant of unknown names, if it is not a raw one
	raw      reflect.Type                                     // a struct{ Name string; Raw json.RawMessage }; nil if there is none
	byMember []variant                                        // without a key: the first variant whose member name is there
	custom   func(raw json.RawMessage) (reflect.Type, string) // without a key: picks the type, or says what was expected
}

// variant is a variant with its name.
type variant struct {
	name string
	typ  reflect.Type
}

func is[T any](name string) variant { return variant{name, reflect.TypeFor[T]()} }

// named returns the variant with the name.
func (u *union) named(name string) (reflect.Type, bool) {
	for _, v := range u.variants {
		if v.name == name {
			return v.typ, true
		}
	}
	return nil, false
}

// nameOf returns the name that type t has in the union; a bare variant has none.
func (u *union) nameOf(t reflect.Type) string {
	if t == u.bare || t == u.rest {
		return ""
	}
	for _, v := range u.variants {
		if v.typ == t {
			return v.name
		}
	}
	return ""
}

// unions are all of them, by interface type.
var unions = map[reflect.Type]*union{ //nolint:gochecknoglobals // a table, never changed
	reflect.TypeFor[AuthMethod](): {
		key:      "type",
		variants: []variant{is[AuthMethodTerminal]("terminal"), is[AuthMethodAgent]("agent")},
		bare:     reflect.TypeFor[AuthMethodAgent](),
		raw:      reflect.TypeFor[RawAuthMethod](),
	},
	reflect.TypeFor[MCPServer](): {
		key:      "type",
		variants: []variant{is[MCPServerHTTP]("http"), is[MCPServerSSE]("sse"), is[MCPServerStdio]("stdio")},
		bare:     reflect.TypeFor[MCPServerStdio](),
		raw:      reflect.TypeFor[RawMCPServer](),
	},
	reflect.TypeFor[ContentBlock](): {
		key: "type",
		variants: []variant{
			is[TextContent]("text"), is[ImageContent]("image"), is[AudioContent]("audio"),
			is[ResourceLink]("resource_link"), is[EmbeddedResource]("resource"),
		},
		raw: reflect.TypeFor[RawContent](),
	},
	reflect.TypeFor[ResourceContents](): {
		byMember: []variant{is[TextResourceContents]("text"), is[BlobResourceContents]("blob")},
	},
	reflect.TypeFor[ToolCallContent](): {
		key:      "type",
		variants: []variant{is[ContentItem]("content"), is[Diff]("diff"), is[Terminal]("terminal")},
		raw:      reflect.TypeFor[RawToolCallContent](),
	},
	reflect.TypeFor[SessionUpdate](): {
		key: "sessionUpdate",
		variants: []variant{
			is[UserMessageChunk]("user_message_chunk"), is[AgentMessageChunk]("agent_message_chunk"),
			is[AgentThoughtChunk]("agent_thought_chunk"), is[ToolCall]("tool_call"), is[ToolCallUpdate]("tool_call_update"),
			is[Plan]("plan"), is[AvailableCommandsUpdate]("available_commands_update"),
			is[CurrentModeUpdate]("current_mode_update"), is[ConfigOptionUpdate]("config_option_update"),
			is[SessionInfoUpdate]("session_info_update"), is[UsageUpdate]("usage_update"), is[Notice]("notice"),
			is[CompactionUpdate]("compaction_update"), is[CompactionSummaryChunk]("compaction_summary_chunk"),
		},
		raw: reflect.TypeFor[RawUpdate](),
	},
	reflect.TypeFor[RequestPermissionOutcome](): {
		key:      "outcome",
		variants: []variant{is[Cancelled]("cancelled"), is[Selected]("selected")},
		raw:      reflect.TypeFor[RawPermissionOutcome](),
	},
	reflect.TypeFor[SessionConfigOption](): {
		key:      "type",
		variants: []variant{is[SessionConfigSelect]("select"), is[SessionConfigBoolean]("boolean")},
		raw:      reflect.TypeFor[RawSessionConfigOption](),
	},
	reflect.TypeFor[SessionConfigSelectOptions](): {custom: selectOptions},
	reflect.TypeFor[SessionConfigOptionValue](): {
		key:      "type",
		variants: []variant{is[BooleanValue]("boolean")},
		bare:     reflect.TypeFor[SelectValue](),
		rest:     reflect.TypeFor[SelectValue](),
	},
	reflect.TypeFor[ElicitationMode](): {
		key:      "mode",
		variants: []variant{is[ElicitationFormMode]("form"), is[ElicitationURLMode]("url")},
		raw:      reflect.TypeFor[RawElicitationMode](),
	},
	reflect.TypeFor[ElicitationScope](): {
		byMember: []variant{is[ElicitationSessionScope]("sessionId"), is[ElicitationRequestScope]("requestId")},
	},
	reflect.TypeFor[ElicitationAction](): {
		key: "action",
		variants: []variant{
			is[ElicitationAcceptAction]("accept"), is[ElicitationDeclineAction]("decline"), is[ElicitationCancelAction]("cancel"),
		},
		raw: reflect.TypeFor[RawElicitationAction](),
	},
	reflect.TypeFor[ElicitationContentValue](): {custom: contentValue},
	reflect.TypeFor[ElicitationPropertySchema](): {
		key: "type",
		variants: []variant{
			is[StringPropertySchema]("string"), is[NumberPropertySchema]("number"), is[IntegerPropertySchema]("integer"),
			is[BooleanPropertySchema]("boolean"), is[MultiSelectPropertySchema]("array"),
		},
		raw: reflect.TypeFor[RawPropertySchema](),
	},
	reflect.TypeFor[MultiSelectItems](): {
		key:      "type",
		variants: []variant{is[StringMultiSelectItems]("string")},
		bare:     reflect.TypeFor[TitledMultiSelectItems](),
		raw:      reflect.TypeFor[RawMultiSelectItems](),
	},
}

func unionOf(t reflect.Type) *union { return unions[t] }

// selectOptions tells a flat list of values from a grouped one by its first item.
func selectOptions(raw json.RawMessage) (reflect.Type, string) {
	if kindOf(raw) != "array" {
		return nil, "array"
	}
	first := json.RawMessage(nil)
	err := eachItem(raw, func(item json.RawMessage) error {
		first = item
		return errStop
	})
	if err != nil && len(first) > 0 && member(first, "group") != nil {
		return reflect.TypeFor[GroupedOptions](), ""
	}
	return reflect.TypeFor[UngroupedOptions](), ""
}

// contentValue tells the values of a form apart by their kind.
func contentValue(raw json.RawMessage) (reflect.Type, string) {
	switch kind := kindOf(raw); kind {
	case "string":
		return reflect.TypeFor[StringContent](), ""
	case "boolean":
		return reflect.TypeFor[BooleanContent](), ""
	case "array":
		return reflect.TypeFor[StringArrayContent](), ""
	case "object", "null", "nothing":
		return nil, "string, number, boolean or array of strings"
	}
	if _, err := parseInteger(raw); err == nil {
		return reflect.TypeFor[IntegerContent](), ""
	}
	return reflect.TypeFor[NumberContent](), ""
}

// tag is what a variant's object begins with.
type tag struct {
	key, name string
	raw       bool // there is no object to begin: it is what came in
}

// tags returns the tag of each type that is a variant. Every type is a variant of one union only.
var tags = sync.OnceValue(func() map[reflect.Type]tag { //nolint:gochecknoglobals // a table, made at its first use
	out := map[reflect.Type]tag{}
	for _, u := range unions {
		for _, v := range u.variants {
			out[v.typ] = tag{key: u.key, name: u.nameOf(v.typ)}
		}
		if u.raw != nil {
			out[u.raw] = tag{key: u.key, raw: true}
		}
	}
	return out
})
