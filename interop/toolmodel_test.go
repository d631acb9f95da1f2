package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// toolModel is a model of the Chat Completions API that does what prompts say, so that a client decides which tools are
// called, and learns what a model sees. It is stateless:
//
//	a line `call TOOL {ARGS}` of the prompt       calls that tool; several lines, several tools at once
//	a line `tools` of the prompt                  answers `tools: ` and the names of those that it is offered
//	results of tools                              answers `result: ` and each of them, then `images: ` and how many came
//	anything else                                 answers `heard: ` and the prompt, whole
type toolModel struct {
	base string // for OPENAI_BASE_URL
}

func startToolModel(t *testing.T) *toolModel {
	t.Helper()
	m := &toolModel{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body modelRequest
		if !assert.NoError(t, json.NewDecoder(r.Body).Decode(&body)) {
			return
		}
		body.answer(w)
	}))
	t.Cleanup(server.Close)
	m.base = server.URL + "/v1"
	return m
}

// environ makes this the model of a cartagent.
func (m *toolModel) environ(env []string) []string {
	return append(env, "CARTAGENT_MODEL=openai/told", "OPENAI_BASE_URL="+m.base, "OPENAI_API_KEY=sk-interop")
}

type modelRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

var (
	callLine  = regexp.MustCompile(`(?m)^call (\S+) (\{.*\})\s*$`)
	toolsLine = regexp.MustCompile(`(?m)^tools\s*$`)
)

func (r modelRequest) answer(w http.ResponseWriter) {
	var heard, results []string
	images := 0
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != "assistant" && r.Messages[i].Role != "system"; i-- {
		text, pictures := contentOf(r.Messages[i].Content)
		images += pictures
		if r.Messages[i].Role == "tool" {
			results = append([]string{text}, results...)
		} else {
			heard = append([]string{text}, heard...)
		}
	}
	said := strings.Join(heard, "\n")
	calls := callLine.FindAllStringSubmatch(said, -1)
	switch {
	case len(results) > 0:
		stream(w, fmt.Sprintf("result: %s\nimages: %d", strings.Join(results, "\n"), images), nil)
	case len(calls) > 0:
		stream(w, "", calls)
	case toolsLine.MatchString(said):
		var names []string
		for _, t := range r.Tools {
			names = append(names, t.Function.Name)
		}
		stream(w, "tools: "+strings.Join(names, " "), nil)
	default:
		stream(w, fmt.Sprintf("heard: %s\nimages: %d", said, images), nil)
	}
}

// contentOf is the text of a message, and how many images are in it.
func contentOf(raw json.RawMessage) (text string, images int) {
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &parts) != nil {
		return text, 0
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "image_url" {
			images++
		} else {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), images
}

// stream sends a reply as providers do.
func stream(w http.ResponseWriter, text string, calls [][]string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta object, finish any) {
		data, _ := json.Marshal(object{"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	finish := "stop"
	if text != "" {
		send(object{"content": text}, nil)
	}
	for i, c := range calls {
		finish = "tool_calls"
		send(object{"tool_calls": []any{object{
			"index": i, "id": fmt.Sprintf("c%d", i), "type": "function", "function": object{"name": c[1], "arguments": c[2]},
		}}}, nil)
	}
	send(object{}, finish)
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
