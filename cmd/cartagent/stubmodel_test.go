package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
)

// stubModel serves scripted replies as an OpenAI-compatible provider streams them, one for each request, and returns
// its base URL.
func stubModel(t *testing.T, replies []scripted.Reply) string {
	t.Helper()
	return stubModelSeen(t, replies, func([]byte) {})
}

// stubModelSeen is stubModel, and shows each request.
func stubModelSeen(t *testing.T, replies []scripted.Reply, see func(body []byte)) string {
	t.Helper()
	next := make(chan scripted.Reply, len(replies))
	for _, r := range replies {
		next <- r
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []json.RawMessage `json:"messages"`
		}
		raw, err := io.ReadAll(r.Body)
		if !assert.NoError(t, err) || !assert.NoError(t, json.Unmarshal(raw, &body)) {
			return
		}
		see(raw)
		select {
		case reply := <-next:
			if reply.Expect != "" {
				assert.Contains(t, string(body.Messages[len(body.Messages)-1]), reply.Expect)
			}
			serveReply(w, r, reply)
		default:
			t.Error("the model was asked more often than there are replies")
			http.Error(w, "no more replies", http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

type object = map[string]any

func serveReply(w http.ResponseWriter, r *http.Request, reply scripted.Reply) {
	if reply.Fail != nil && len(reply.Text)+len(reply.Thought) == 0 {
		// The adapter wraps what the provider said; the scenario has the whole sentence.
		_, said, _ := strings.Cut(strings.TrimSuffix(reply.Fail.Message, ")."), "400: ")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(object{"error": object{"message": said}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta object, finish any) {
		data, _ := json.Marshal(object{"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	for _, s := range reply.Thought {
		send(object{"reasoning_content": s}, nil)
	}
	for _, s := range reply.Text {
		send(object{"content": s}, nil)
	}
	if reply.Hang {
		<-r.Context().Done()
		return
	}
	for i, c := range reply.Calls {
		send(object{"tool_calls": []any{object{
			"index": i, "id": fmt.Sprintf("c%d", i), "type": "function",
			"function": object{"name": c.Tool, "arguments": string(c.Args)},
		}}}, nil)
	}
	finish := "stop"
	switch {
	case len(reply.Calls) > 0:
		finish = "tool_calls"
	case reply.Stop == loop.StopMaxTokens:
		finish = "length"
	case reply.Stop == loop.StopRefusal:
		finish = "content_filter"
	}
	send(object{}, finish)
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
