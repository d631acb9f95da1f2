package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// stub is a model provider on 127.0.0.1 that speaks streaming Chat Completions and does what the prompt says:
//
//	SAY n                  streams n chunks, "w1 " to "wn "
//	TOOLS n FILE pattern   makes n rounds of one call of read each, whose path is the pattern given the round's number
//	                       (from 0), then says "done"
//
// The last such line of the user's counts. All state is in the request, so any number of sessions can ask at once.
type stub struct {
	URL string // what OPENAI_BASE_URL is to be

	mu   sync.Mutex
	seen []requestSize
}

// requestSize is what one model request weighed, in bytes of its JSON as sent.
type requestSize struct {
	Total  int
	System int // the contents of its system and developer messages
	Tools  int // its list of tools
}

func startStub(tb testing.TB) *stub {
	tb.Helper()
	s := &stub{}
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	s.URL = server.URL + "/v1"
	return s
}

// take returns the sizes of the requests since it was last called.
func (s *stub) take() []requestSize {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

type chatRequest struct {
	Stream   bool
	Messages []chatMessage
	Tools    json.RawMessage
}

type chatMessage struct {
	Role    string
	Content json.RawMessage // a string or a list of parts
}

// text is the message's text, its parts one a line.
func (m chatMessage) text() (string, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", fmt.Errorf("decoding the content of a user message: %w", err)
	}
	for _, p := range parts {
		text += p.Text + "\n"
	}
	return text, nil
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("reading the request: %w", err))
		return
	}
	if r.URL.Path != "/v1/chat/completions" {
		refuse(w, http.StatusNotFound, fmt.Errorf("%s is not served here, only /v1/chat/completions", r.URL.Path))
		return
	}
	var req chatRequest
	if err := json.Unmarshal(body.Bytes(), &req); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("decoding the request: %w", err))
		return
	}
	todo, err := scriptOf(req)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	s.note(requestSize{Total: body.Len(), System: req.systemBytes(), Tools: len(req.Tools)})
	w.Header().Set("Content-Type", "text/event-stream")
	out := &eventStream{w: w, flush: w.(http.Flusher).Flush}
	todo.play(out)
}

func (s *stub) note(size requestSize) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, size)
}

func (r chatRequest) systemBytes() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			n += len(m.Content)
		}
	}
	return n
}

// refuse answers in the provider's form; 400 and 404 are not tried again by clients.
func refuse(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"error": object{"message": "bench stub: " + err.Error()}}) // the client may be gone
}

// script is what is still to be done for the last order of a conversation.
type script struct {
	say  int    // chunks of text to stream; 0 says "done"
	path string // or the file to read in this round
	id   string // the call's id
}

var orderRE = regexp.MustCompile(`\b(SAY|TOOLS) (\d+)(?: FILE (\S+))?`)

func scriptOf(r chatRequest) (script, error) {
	if !r.Stream {
		return script{}, errors.New("only streaming requests are answered")
	}
	var order []string
	rounds := 0
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			text, err := m.text()
			if err != nil {
				return script{}, err
			}
			if found := orderRE.FindAllStringSubmatch(text, -1); len(found) > 0 {
				order, rounds = found[len(found)-1], 0
			}
		case "tool":
			rounds++
		}
	}
	if order == nil {
		return script{}, errors.New(`no message of the user's says "SAY n" or "TOOLS n FILE pattern"`)
	}
	n, err := strconv.Atoi(order[2])
	if err != nil {
		return script{}, fmt.Errorf("reading the count of %q: %w", order[0], err)
	}
	switch {
	case order[1] == "SAY":
		return script{say: n}, nil
	case rounds >= n:
		return script{}, nil
	case order[3] == "":
		return script{}, errors.New(`"TOOLS n" lacks its "FILE pattern"`)
	default:
		return script{path: fmt.Sprintf(order[3], rounds), id: fmt.Sprintf("call_%d_%d", len(r.Messages), rounds)}, nil
	}
}

func (s script) play(out *eventStream) {
	finish := "stop"
	switch {
	case s.path != "":
		finish = "tool_calls"
		args, _ := json.Marshal(object{"path": s.path}) // a string always encodes
		out.delta(object{"tool_calls": []object{{
			"index": 0, "id": s.id, "type": "function", "function": object{"name": "read", "arguments": string(args)},
		}}}, nil)
	case s.say > 0:
		for i := range s.say {
			out.text("w" + strconv.Itoa(i+1) + " ")
		}
	default:
		out.text("done")
	}
	out.delta(object{}, finish)
	out.send([]byte(`{"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"stub","choices":[],` +
		`"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}`))
	out.send([]byte("[DONE]"))
}

type object = map[string]any

// eventStream writes server-sent events, each flushed by itself as providers do.
type eventStream struct {
	w     http.ResponseWriter
	flush func()
	buf   []byte
}

func (e *eventStream) send(data []byte) {
	e.buf = append(append(append(e.buf[:0], "data: "...), data...), "\n\n"...)
	_, _ = e.w.Write(e.buf) // a client that went away ends the request by itself
	e.flush()
}

func (e *eventStream) delta(delta object, finish any) {
	data, _ := json.Marshal(object{ // maps of strings always encode
		"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "stub",
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	e.send(data)
}

// text is delta without the encoder, so that the stub is not what a benchmark of chunks measures. s needs no escaping.
func (e *eventStream) text(s string) {
	var b strings.Builder
	b.WriteString(`{"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"stub",` +
		`"choices":[{"index":0,"delta":{"content":"`)
	b.WriteString(s)
	b.WriteString(`"},"finish_reason":null}]}`)
	e.send([]byte(b.String()))
}
