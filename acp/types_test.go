package acp

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodeParams(t *testing.T) {
	t.Parallel()
	stdio := MCPServerStdio{Name: "n", Command: "c", Args: []string{"a"}, Env: []EnvVariable{{Name: "K", Value: "V"}}}
	for raw, want := range map[string]any{
		`{"protocolVersion":1}`:  &InitializeRequest{ProtocolVersion: 1},
		`{"protocolVersion":-7}`: &InitializeRequest{ProtocolVersion: -7},
		`{"protocolVersion":99,"clientInfo":{"name":1},"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":"yes"},"terminal":1,
			"session":null,"elicitation":{"form":{},"url":false}},"_meta":7,"more":[1]}`: &InitializeRequest{
			ProtocolVersion: 99,
			ClientCapabilities: ClientCapabilities{
				FS: FileSystemCapabilities{ReadTextFile: true}, Elicitation: &ElicitationCapabilities{Form: &ElicitationFormCapabilities{}},
			},
		},
		`{"protocolVersion":1,"clientCapabilities":true}`: &InitializeRequest{ProtocolVersion: 1},
		`{"cwd":"/w"}`: &NewSessionRequest{Cwd: "/w"},
		`{"cwd":"/w","mcpServers":null,"additionalDirectories":null}`:      &NewSessionRequest{Cwd: "/w"},
		`{"cwd":"/w","mcpServers":[],"additionalDirectories":["/a","/b"]}`: &NewSessionRequest{Cwd: "/w", MCPServers: MCPServers{}, AdditionalDirectories: []string{"/a", "/b"}},
		`{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":["a"],"env":[{"name":"K","value":"V"}]},
			{"type":"stdio","name":"n","command":"c","args":["a"],"env":[{"name":"K","value":"V"}]},
			{"name":"n","command":"c","args":null,"env":null},{"type":"http","name":"h","url":"u","headers":null},
			{"type":"sse","name":"s","url":"u","headers":[{"name":"A","value":"B"}]},{"type":"acp","name":"x","serverId":"1"}]}`: &NewSessionRequest{
			Cwd: "/w", MCPServers: MCPServers{
				stdio, stdio,
				MCPServerStdio{Name: "n", Command: "c"},
				MCPServerHTTP{Name: "h", URL: "u"},
				MCPServerSSE{Name: "s", URL: "u", Headers: []HTTPHeader{{Name: "A", Value: "B"}}},
				RawMCPServer{Type: "acp", Raw: json.RawMessage(`{"type":"acp","name":"x","serverId":"1"}`)},
			},
		},
		``:     &LogoutRequest{},
		`null`: &ListSessionsRequest{},
		`{"cwd":null,"cursor":"c","cwD":"relative"}`:                     &ListSessionsRequest{Cursor: new("c")},
		`{"sessionId":"s","configId":"c","value":"v"}`:                   &SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: SelectValue{Value: "v"}},
		`{"sessionId":"s","configId":"c","type":"later","value":"v"}`:    &SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: SelectValue{Value: "v"}},
		`{"sessionId":"s","configId":"c","type":"boolean","value":true}`: &SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: BooleanValue{Value: true}},
		`{"sessionId":"s","path":"/a","line":2.0,"limit":null}`:          &ReadTextFileRequest{SessionID: "s", Path: "/a", Line: new(uint32(2))},
		`{"requestId":-1}`:  &CancelRequestNotification{RequestID: NumberID(-1)},
		`{"requestId":"a"}`: &CancelRequestNotification{RequestID: StringID("a")},
	} {
		got := reflect.New(reflect.TypeOf(want).Elem())
		in := trim(json.RawMessage(raw))
		if len(in) == 0 || isNull(in) {
			in = json.RawMessage("{}")
		}
		if assert.NoError(t, decodeAny("params", in, got.Interface(), 0), raw) {
			assert.Equal(t, want, got.Interface(), raw)
		}
	}
}

func TestDecodeParamsRefuses(t *testing.T) {
	t.Parallel()
	check := func(err error, raw, want string) {
		t.Helper()
		var coded *Error
		if assert.ErrorAs(t, err, &coded, raw) {
			assert.Equal(t, int64(CodeInvalidParams), coded.Code, raw)
			assert.Equal(t, want, coded.Message, raw)
		}
	}
	for raw, want := range map[string]string{
		``:                         "params/protocolVersion: is required",
		`[1]`:                      "params: expected object, got array",
		`{"protocolVersion":"1"}`:  "params/protocolVersion: expected integer, got string",
		`{"protocolVersion":1.5}`:  "params/protocolVersion: expected integer, got 1.5",
		`{"protocolVersion":null}`: "params/protocolVersion: expected integer, got null",
		`{"protocolVersion":1e40}`: "params/protocolVersion: 1e40 is out of range",
		`{"protocolVersion":` + strings.Repeat("9", 99) + `}`: "params/protocolVersion: number is out of range",
	} {
		_, err := decodeParams[InitializeRequest](json.RawMessage(raw))
		check(err, raw, want)
	}
	for raw, want := range map[string]string{
		`{}`:          "params/cwd: is required",
		`{"cwd":"w"}`: "params/cwd: must be an absolute path",
		`{"cwd":""}`:  "params/cwd: must be an absolute path",
		`{"cwd":7}`:   "params/cwd: expected string, got 7",
		`{"cwd":"/w","additionalDirectories":["x"]}`:                                          "params/additionalDirectories/0: must be an absolute path",
		`{"cwd":"/w","additionalDirectories":"/x"}`:                                           "params/additionalDirectories: expected array, got string",
		`{"cwd":"/w","mcpServers":{}}`:                                                        "params/mcpServers: expected array, got object",
		`{"cwd":"/w","mcpServers":[7]}`:                                                       "params/mcpServers/0: expected object, got 7",
		`{"cwd":"/w","mcpServers":[{"name":"n"}]}`:                                            "params/mcpServers/0/command: is required",
		`{"cwd":"/w","mcpServers":[{"type":"http"}]}`:                                         "params/mcpServers/0/name: is required",
		`{"cwd":"/w","mcpServers":[{"type":null}]}`:                                           "params/mcpServers/0/type: expected string, got null",
		`{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":[],"env":{"A":"B"}}]}`:    "params/mcpServers/0/env: expected array, got object",
		`{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":[1],"env":[]}]}`:          "params/mcpServers/0/args/0: expected string, got 1",
		`{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":[],"env":[{"name":1}]}]}`: "params/mcpServers/0/env/0/name: expected string, got 1",
	} {
		_, err := decodeParams[NewSessionRequest](json.RawMessage(raw))
		check(err, raw, want)
	}
	for raw, want := range map[string]string{
		`{"prompt":[]}`:                                "params/sessionId: is required",
		`{"sessionId":"s"}`:                            "params/prompt: is required",
		`{"sessionId":"s","prompt":null}`:              "params/prompt: expected array, got null",
		`{"sessionId":"s","prompt":"hi"}`:              "params/prompt: expected array, got string",
		`{"sessionId":"s","prompt":[{"text":"hi"}]}`:   "params/prompt/0/type: is required",
		`{"sessionId":"s","prompt":[{"type":"text"}]}`: "params/prompt/0/text: is required",

		`{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"u"}}]}`: "params/prompt/0/resource: needs text or blob",
	} {
		_, err := decodeParams[PromptRequest](json.RawMessage(raw))
		check(err, raw, want)
	}
	_, err := decodeParams[ReadTextFileRequest](json.RawMessage(`{"sessionId":"s","path":"/a","line":-1}`))
	check(err, "line", "params/line: -1 is out of range")
	_, err = decodeParams[ReadTextFileRequest](json.RawMessage(`{"sessionId":"s","path":"/a","limit":4294967296}`))
	check(err, "limit", "params/limit: 4294967296 is out of range")
	_, err = decodeParams[RequestPermissionRequest](json.RawMessage(`{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"o","name":"n","kind":"maybe"}]}`))
	check(err, "kind", `params/options/0/kind: unknown value "maybe"`)
	_, err = decodeParams[SetSessionConfigOptionRequest](json.RawMessage(`{"sessionId":"s","configId":"c","value":true}`))
	check(err, "value", "params/value: expected string, got boolean")
	_, err = decodeParams[CreateElicitationRequest](json.RawMessage(`{"message":"m","mode":"form","requestedSchema":{}}`))
	check(err, "scope", "params: needs sessionId or requestId")
}

func TestDecodeResult(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"null", "{}", "", ` {"x":1} `} {
		got, err := decodeResult[WriteTextFileResponse](json.RawMessage(raw))
		require.NoError(t, err, raw)
		assert.Equal(t, &WriteTextFileResponse{}, got)
	}
	_, err := decodeResult[RequestPermissionResponse](json.RawMessage("null"))
	require.ErrorContains(t, err, "result/outcome: is required")
	var raw json.RawMessage
	require.NoError(t, decodeInto(json.RawMessage(`[1]`), &raw))
	assert.Equal(t, []byte(`[1]`), []byte(raw), "as it came")
}

// TestUnknownVariantsComeOutAsTheyCameIn holds for every union that has a place for them.
func TestUnknownVariantsComeOutAsTheyCameIn(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]any{
		`{"type":"_video","z":1,"a":{"b":[null,1e2,"\u00e9"]}}`: new(ContentBlock(nil)),
		`{"type":"acp","serverId":"s"}`:                         new(MCPServer(nil)),
		`{"type":"env_var","id":"i","name":"n"}`:                new(AuthMethod(nil)),
		`{"type":"table","rows":[]}`:                            new(ToolCallContent(nil)),
		`{"sessionUpdate":"_mine","x":{}}`:                      new(SessionUpdate(nil)),
		`{"outcome":"later","why":"x"}`:                         new(RequestPermissionOutcome(nil)),
		`{"type":"slider","id":"i","name":"n"}`:                 new(SessionConfigOption(nil)),
		`{"type":"color"}`:                                      new(ElicitationPropertySchema(nil)),
		`{"type":"number","enum":[1]}`:                          new(MultiSelectItems(nil)),
	} {
		require.NoError(t, decodeAny("x", json.RawMessage(raw), want, 0), raw)
		value := reflect.ValueOf(want).Elem().Elem()
		assert.True(t, strings.HasPrefix(value.Type().Name(), "Raw"), raw)
		out, err := marshal(value.Interface())
		require.NoError(t, err)
		assert.Equal(t, raw, string(out))
		again := reflect.New(value.Type())
		require.NoError(t, json.Unmarshal([]byte(raw), again.Interface()))
		assert.Equal(t, value.Interface(), again.Elem().Interface())
	}
	for _, raw := range []string{
		`{"message":"m","mode":"_voice","sessionId":"s","pitch":{"low":1}}`, `{"message":"m","mode":"_voice","pitch":2,"requestId":3}`,
	} {
		got, err := decodeParams[CreateElicitationRequest](json.RawMessage(raw))
		require.NoError(t, err)
		out, err := marshal(got)
		require.NoError(t, err)
		assert.JSONEq(t, raw, string(out))
	}
	var answer CreateElicitationResponse
	require.NoError(t, json.Unmarshal([]byte(`{"action":"_later","when":1}`), &answer))
	out, err := marshal(answer)
	require.NoError(t, err)
	assert.JSONEq(t, `{"action":"_later","when":1}`, string(out))
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		`{"sessionId":"s","prompt":[]}`: PromptRequest{SessionID: "s"},
		`{"cwd":"/w","mcpServers":[]}`:  NewSessionRequest{Cwd: "/w"},
		`{"cwd":"/w","additionalDirectories":[],"mcpServers":[{"name":"n","command":"c","args":[],"env":[]}]}`: NewSessionRequest{Cwd: "/w", AdditionalDirectories: []string{}, MCPServers: MCPServers{MCPServerStdio{Name: "n", Command: "c"}}},
		`{"protocolVersion":1,"authMethods":[]}`:                                               InitializeResponse{ProtocolVersion: 1, AuthMethods: AuthMethods{}},
		`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}`:        InitializeResponse{ProtocolVersion: 1, AgentCapabilities: AgentCapabilities{SessionCapabilities: SessionCapabilities{List: &SessionListCapabilities{}}}},
		`{"outcome":{"outcome":"cancelled"}}`:                                                  RequestPermissionResponse{Outcome: Cancelled{}},
		`{"outcome":{"outcome":"selected","optionId":"o"}}`:                                    RequestPermissionResponse{Outcome: &Selected{OptionID: "o"}},
		`{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}`:                         RequestPermissionRequest{SessionID: "s", ToolCall: ToolCallUpdate{ToolCallID: "c"}},
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","content":[]}`: ToolCallUpdate{ToolCallID: "c", Status: new(StatusFailed), Content: ToolCallContents{}},
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","content":[{"type":"diff","path":"/a","oldText":"","newText":"<"}],"rawInput":{"a":1}}`: ToolCall{
			ToolCallID: "c", Title: "t", Content: ToolCallContents{Diff{Path: "/a", OldText: new(""), NewText: "<"}}, RawInput: json.RawMessage("{\n \"a\": 1}"),
		},
		`{"sessionUpdate":"session_info_update","title":null}`:                 SessionInfoUpdate{Title: Null[string]()},
		`{"sessionUpdate":"session_info_update","updatedAt":"t"}`:              SessionInfoUpdate{UpdatedAt: Some("t")},
		`{"sessionUpdate":"plan","entries":[]}`:                                Plan{},
		`{"sessionUpdate":"available_commands_update","availableCommands":[]}`: AvailableCommandsUpdate{},
		`{"action":"accept","content":{"a":"x","b":2,"c":2.5,"d":true,"e":["f"]}}`: CreateElicitationResponse{Action: ElicitationAcceptAction{Content: map[string]ElicitationContentValue{
			"a": StringContent("x"), "b": IntegerContent(2), "c": NumberContent(2.5), "d": BooleanContent(true), "e": StringArrayContent{"f"},
		}}},
		`{"action":"decline"}`: CreateElicitationResponse{Action: ElicitationDeclineAction{}},
		`{"sessionId":"s","configId":"c","type":"boolean","value":false}`:       SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: BooleanValue{}},
		`{"type":"select","id":"m","name":"M","currentValue":"a","options":[]}`: SessionConfigSelect{ID: "m", Name: "M", CurrentValue: "a", Options: UngroupedOptions(nil)},
		`{"id":"i","name":"n"}`: AuthMethodAgent{ID: "i", Name: "n"},
	} {
		out, err := marshal(v)
		require.NoError(t, err, want)
		assert.Equal(t, want, string(out))
	}
	for want, v := range map[string]any{
		"a SessionUpdate is missing":         SessionNotification{SessionID: "s"},
		"a ContentBlock is missing":          PromptRequest{Prompt: ContentBlocks{nil}},
		"a ContentBlock is a nil":            PromptRequest{Prompt: ContentBlocks{(*TextContent)(nil)}},
		"a RawContent has no Raw":            PromptRequest{Prompt: ContentBlocks{RawContent{Type: "x"}}},
		"Response has no ElicitationAction":  CreateElicitationResponse{},
		"NaN is no number":                   Cost{Amount: math.NaN()},
		"a raw value":                        ToolCall{RawInput: json.RawMessage("{")},
		"a SessionConfigSelectOptions is mi": SessionConfigSelect{},
	} {
		_, err := marshal(v)
		assert.ErrorContains(t, err, want)
	}
}

func TestSkippedItems(t *testing.T) {
	t.Parallel()
	var plan Plan
	require.NoError(t, json.Unmarshal([]byte(`{"entries":[{"content":"a","priority":"high","status":"pending"},7,
		{"content":"b","priority":"urgent","status":"pending"},{"content":"c","priority":"low","status":"completed"}]}`), &plan))
	assert.Equal(t, Plan{Entries: []PlanEntry{
		{Content: "a", Priority: PriorityHigh, Status: PlanPending}, {Content: "c", Priority: PriorityLow, Status: PlanCompleted},
	}}, plan)
	var call ToolCall
	require.NoError(t, json.Unmarshal([]byte(`{"toolCallId":"c","title":"t","kind":"dance","status":9,
		"content":[{"type":"terminal"},{"type":"terminal","terminalId":"t"}],"locations":{"path":"/x"}}`), &call))
	assert.Equal(t, ToolCall{ToolCallID: "c", Title: "t", Content: ToolCallContents{Terminal{TerminalID: "t"}}}, call)
}

func TestGroupedOptions(t *testing.T) {
	t.Parallel()
	raw := `{"type":"select","id":"m","name":"M","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"}]}]}`
	var option SessionConfigSelect
	require.NoError(t, json.Unmarshal([]byte(raw), &option))
	assert.Equal(t, GroupedOptions{{Group: "g", Name: "G", Options: []SessionConfigSelectOption{{Value: "a", Name: "A"}}}}, option.Options)
	out, err := marshal(option)
	require.NoError(t, err)
	assert.Equal(t, raw, string(out))
}

func TestOptAndRequestID(t *testing.T) {
	t.Parallel()
	var u SessionInfoUpdate
	require.NoError(t, json.Unmarshal([]byte(`{"title":null,"updatedAt":7}`), &u))
	assert.Equal(t, SessionInfoUpdate{Title: Null[string]()}, u)
	assert.True(t, u.Title.IsNull())
	assert.True(t, u.UpdatedAt.IsZero())
	v, ok := Some("x").Get()
	assert.Equal(t, "x", v)
	assert.True(t, ok)

	for raw, want := range map[string]RequestID{`null`: {}, `7`: NumberID(7), `-9223372036854775808`: NumberID(math.MinInt64), `"7"`: StringID("7")} {
		var id RequestID
		require.NoError(t, json.Unmarshal([]byte(raw), &id))
		assert.Equal(t, want, id)
		assert.Equal(t, raw, id.String())
	}
	n, isNumber := NumberID(7).Number()
	assert.Equal(t, int64(7), n)
	assert.True(t, isNumber)
	text, isText := StringID("x").Text()
	assert.Equal(t, "x", text)
	assert.True(t, isText)
	assert.True(t, RequestID{}.IsNull())
	ids, err := json.Marshal([]RequestID{{}, NumberID(1), StringID("1")})
	require.NoError(t, err)
	assert.Equal(t, `[null,1,"1"]`, string(ids))
	opts, err := json.Marshal([]Opt[int]{Some(1), Null[int]()})
	require.NoError(t, err)
	assert.Equal(t, `[1,null]`, string(opts))
	var back []Opt[int]
	require.NoError(t, json.Unmarshal(opts, &back))
	assert.Equal(t, []Opt[int]{Some(1), Null[int]()}, back)
	for _, raw := range []string{`1.5`, `{}`, `true`, `9223372036854775808`} {
		assert.Error(t, json.Unmarshal([]byte(raw), new(RequestID)), raw)
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "<&>", "\x00\x1f\x7f\"\\\b\f\n\r\t", "é😀\u2028\u2029", "a\xffb\xc3", strings.Repeat("\\", 99)} {
		var back string
		require.NoError(t, json.Unmarshal(appendString(nil, s), &back))
		assert.Equal(t, strings.ToValidUTF8(s, "\ufffd"), back)
	}
}

// TestBadJSON sees to it that the scanner gives up where the stream should have.
func TestBadJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{`, `{"sessionId"`, `{"sessionId":`, `{"sessionId":}`, `{"sessionId":"s`, `{"sessionId":"s"`, `{"sessionId":"s",}`, `{7:1}`,
		`{"sessionId":"s\x"}`, `{"sessionId":"s","prompt":[`, `{"sessionId":"s","prompt":[{"type":"text","text":"x"}`,
		`{"sessionId":"s","prompt":[{"type":"text","text":"x"} 7]}`, `{"sessionId":"s","prompt":[{"type":"\x"}]}`,
		`{"sessionId":"s","prompt":[{"type":"_x","a":tru}]}`, `{"sessionId":"s","prompt":[,]}`, "{\"sessionId\":\"a\nb\"}", `"`, `x`, `{"a":"\`,
	} {
		_, err := decodeParams[PromptRequest](json.RawMessage(raw))
		var coded *Error
		assert.ErrorAs(t, err, &coded, raw)
	}
}

func chunk() SessionNotification {
	return SessionNotification{SessionID: "sess_0123456789abcdef", Update: AgentMessageChunk{
		MessageID: new(MessageID("msg_1")), Content: TextContent{Text: "The test fails because the clock is read twice.\n"},
	}}
}

// TestChunkByHand holds the encoding written by hand against the one that is not.
func TestChunkByHand(t *testing.T) {
	t.Parallel()
	for _, n := range []SessionNotification{
		chunk(),
		{SessionID: "s", Update: AgentThoughtChunk{Content: TextContent{Text: "a\u2028"}}},
		{SessionID: "s", Update: UserMessageChunk{Content: TextContent{}, MessageID: new(MessageID(`"`))}},
		{SessionID: "s", Update: UserMessageChunk{Content: TextContent{Annotations: &Annotations{}}}},
		{SessionID: "s", Update: AgentMessageChunk{Content: ImageContent{Data: "x"}}, Meta: map[string]json.RawMessage{"a": json.RawMessage("1")}},
	} {
		byHand, err := marshal(n)
		require.NoError(t, err)
		other, err := appendValue(nil, reflect.ValueOf(n))
		require.NoError(t, err)
		assert.Equal(t, string(other), string(byHand))
	}
}

func BenchmarkMarshalChunk(b *testing.B) {
	n := chunk()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := marshal(&n); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalToolCall(b *testing.B) {
	n := SessionNotification{SessionID: "s", Update: ToolCall{
		ToolCallID: "c", Title: "t", Kind: KindEdit, Content: ToolCallContents{Diff{Path: "/a", NewText: strings.Repeat("line\n", 50)}},
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := marshal(&n); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePrompt(b *testing.B) {
	for name, size := range map[string]int{"small": 100, "20MiB": 20 << 20} {
		raw := json.RawMessage(`{"sessionId":"s","prompt":[{"type":"text","text":"x"},{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", size) + `"}]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeParams[PromptRequest](raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
