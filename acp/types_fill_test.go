package acp

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// schemaTypes are the Go types of the schema's definitions, by the definition's name.
var schemaTypes = func() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"AvailableCommandInput":     reflect.TypeFor[UnstructuredCommandInput](),
		"Content":                   reflect.TypeFor[ContentItem](),
		"EmbeddedResourceResource":  reflect.TypeFor[ResourceContents](),
		"SelectedPermissionOutcome": reflect.TypeFor[Selected](),
	}
	for name, typ := range goTypes() {
		out[schemaName(name)] = typ
	}
	return out
}()

// schemaName is the schema's spelling of a Go name.
func schemaName(name string) string {
	for _, of := range []struct{ from, to string }{
		{"MCP", "Mcp"}, {"HTTP", "Http"}, {"SSE", "Sse"}, {"URL", "Url"}, {"FormatURI", "FormatUri"},
	} {
		name = strings.ReplaceAll(name, of.from, of.to)
	}
	if stem, ok := strings.CutSuffix(name, "ID"); ok {
		name = stem + "Id"
	}
	return name
}

// goTypes are all types that a message can be made of: what is reached from the messages, by name.
func goTypes() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, root := range messages() {
		reach(root, out)
	}
	return out
}

func reach(t reflect.Type, out map[string]reflect.Type) {
	if t.PkgPath() != "" && t.PkgPath() != reflect.TypeFor[Error]().PkgPath() || out[t.Name()] != nil {
		return
	}
	if t.Implements(reflect.TypeFor[optional]()) {
		method, _ := t.MethodByName("Get")
		reach(method.Type.Out(0), out)
		return
	}
	if t.PkgPath() != "" {
		out[t.Name()] = t
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		reach(t.Elem(), out)
	case reflect.Interface:
		for _, v := range variantsOf(t) {
			reach(v, out)
		}
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() && f.Type.Kind() != reflect.Func {
				reach(f.Type, out)
			}
		}
	default:
	}
}

// variantsOf are the known variants of a union.
func variantsOf(t reflect.Type) []reflect.Type {
	u := unions[t]
	var out []reflect.Type
	for _, v := range slices.Concat(u.variants, u.byMember) {
		out = append(out, v.typ)
	}
	if u.bare != nil && !slices.Contains(out, u.bare) {
		out = append(out, u.bare)
	}
	switch t {
	case reflect.TypeFor[SessionConfigSelectOptions]():
		out = append(out, reflect.TypeFor[UngroupedOptions](), reflect.TypeFor[GroupedOptions]())
	case reflect.TypeFor[ElicitationContentValue]():
		out = append(out, reflect.TypeFor[StringContent](), reflect.TypeFor[IntegerContent](),
			reflect.TypeFor[NumberContent](), reflect.TypeFor[BooleanContent](), reflect.TypeFor[StringArrayContent]())
	}
	return out
}

// messages are the types that params and results have.
func messages() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[InitializeRequest](), reflect.TypeFor[InitializeResponse](),
		reflect.TypeFor[AuthenticateRequest](), reflect.TypeFor[AuthenticateResponse](),
		reflect.TypeFor[LogoutRequest](), reflect.TypeFor[LogoutResponse](),
		reflect.TypeFor[NewSessionRequest](), reflect.TypeFor[NewSessionResponse](),
		reflect.TypeFor[LoadSessionRequest](), reflect.TypeFor[LoadSessionResponse](),
		reflect.TypeFor[ResumeSessionRequest](), reflect.TypeFor[ResumeSessionResponse](),
		reflect.TypeFor[ListSessionsRequest](), reflect.TypeFor[ListSessionsResponse](),
		reflect.TypeFor[DeleteSessionRequest](), reflect.TypeFor[DeleteSessionResponse](),
		reflect.TypeFor[CloseSessionRequest](), reflect.TypeFor[CloseSessionResponse](),
		reflect.TypeFor[PromptRequest](), reflect.TypeFor[PromptResponse](), reflect.TypeFor[CancelNotification](),
		reflect.TypeFor[SetSessionModeRequest](), reflect.TypeFor[SetSessionModeResponse](),
		reflect.TypeFor[SetSessionConfigOptionRequest](), reflect.TypeFor[SetSessionConfigOptionResponse](),
		reflect.TypeFor[SessionNotification](), reflect.TypeFor[CancelRequestNotification](),
		reflect.TypeFor[RequestPermissionRequest](), reflect.TypeFor[RequestPermissionResponse](),
		reflect.TypeFor[ReadTextFileRequest](), reflect.TypeFor[ReadTextFileResponse](),
		reflect.TypeFor[WriteTextFileRequest](), reflect.TypeFor[WriteTextFileResponse](),
		reflect.TypeFor[CreateTerminalRequest](), reflect.TypeFor[CreateTerminalResponse](),
		reflect.TypeFor[TerminalOutputRequest](), reflect.TypeFor[TerminalOutputResponse](),
		reflect.TypeFor[WaitForTerminalExitRequest](), reflect.TypeFor[WaitForTerminalExitResponse](),
		reflect.TypeFor[KillTerminalRequest](), reflect.TypeFor[KillTerminalResponse](),
		reflect.TypeFor[ReleaseTerminalRequest](), reflect.TypeFor[ReleaseTerminalResponse](),
		reflect.TypeFor[CreateElicitationRequest](), reflect.TypeFor[CreateElicitationResponse](),
		reflect.TypeFor[CompleteElicitationNotification](),
	}
}

// filler makes values of the protocol's types. With all it sets every field, else the required ones and some others.
type filler struct {
	rnd *rand.Rand
	all bool
}

func (f filler) some() bool { return f.all || f.rnd.IntN(2) == 0 }

func (f filler) value(t reflect.Type, how leniency) reflect.Value {
	v := reflect.New(t).Elem()
	switch target := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*target = json.RawMessage(`{"a":[1,"x"]}`)
		return v
	case *RequestID:
		*target = []RequestID{NumberID(-3), StringID("r"), {}}[f.rnd.IntN(3)]
		return v
	case *Opt[string]:
		*target = []Opt[string]{Some("x"), Null[string](), Some("")}[f.rnd.IntN(3)]
		return v
	case *Opt[ContentBlocks]:
		*target = []Opt[ContentBlocks]{Some(ContentBlocks{TextContent{Text: "x"}}), Null[ContentBlocks](), Some(ContentBlocks{})}[f.rnd.IntN(3)]
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(f.value(t.Elem(), how))
	case reflect.Interface:
		all := variantsOf(t)
		v.Set(f.value(all[f.rnd.IntN(len(all))], how))
	case reflect.Struct:
		f.fields(v)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 0, 2))
		for range 1 + f.rnd.IntN(2) {
			v.Set(reflect.Append(v, f.value(t.Elem(), how)))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("k"), f.value(t.Elem(), how))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + f.rnd.Int64N(1000))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + f.rnd.Uint64N(1000))
	case reflect.Float64:
		v.SetFloat(0.25 + float64(f.rnd.IntN(9)))
	case reflect.String:
		v.SetString(f.text(t, how))
	default:
		panic("no filler for " + t.String())
	}
	return v
}

func (f filler) fields(v reflect.Value) {
	for _, field := range fieldsOf(v.Type()).list {
		if field.required || field.how&flat != 0 || f.some() {
			v.Field(field.index).Set(f.value(v.Field(field.index).Type(), field.how))
		}
	}
}

func (f filler) text(t reflect.Type, how leniency) string {
	if values := enumsInSource()[t.Name()]; len(values) > 0 {
		return values[f.rnd.IntN(len(values))]
	}
	if how&abs != 0 {
		return "/w/x"
	}
	return []string{"x", "ä\u2028\"\\\n\x01", "😀<&>"}[f.rnd.IntN(3)]
}

// keys are the keys of a map in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
