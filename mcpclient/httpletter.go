package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// StatusError is a server's refusal by HTTP alone.
type StatusError struct {
	Server string
	Status int
	Text   string // how the body begins
}

// Error says which server and what, for a model as well as for a person.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("server %s answered with HTTP %d %s", e.Server, e.Status, http.StatusText(e.Status))
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
		text += "; try again later"
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// maxRefusal bounds what is read of a refusal.
const maxRefusal = 1 << 20

// refusal is what there is of a refusal's body, without the token that it may repeat.
func refusal(resp *http.Response) []byte {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if resp.Request == nil {
		return data
	}
	if _, token, _ := strings.Cut(resp.Request.Header.Get("Authorization"), " "); len(token) >= leastSecret {
		data = bytes.ReplaceAll(data, []byte(token), []byte("…"))
	}
	return data
}

// refused handles a status that is no success: the JSON-RPC error in it is the answer, if there is one, unless a request
// of a session hears that there is no such session.
func (r *remote) refused(resp *http.Response, m message, inSession bool) error {
	data := refusal(resp)
	var f frame
	ours := json.Unmarshal(data, &f) == nil && f.Version == "2.0" && f.Method == nil && f.Error != nil &&
		string(f.Error) != "null"
	if resp.StatusCode == http.StatusNotFound && inSession {
		// A method that is not known, and nothing else, is said with the request's own id.
		known := ours && string(f.ID) == m.id && f.answer().err.Code == jsonrpc.CodeMethodNotFound
		if !known {
			return errNoSession
		}
	}
	// An initialize that is refused leads on to HTTP+SSE, whatever the words, unless they are a modern server's.
	modern := ours && f.answer().err.Code == mcp.CodeUnsupportedProtocolVersion
	last := m.method == methodInitialize && noSuchPost(resp.StatusCode) && !modern
	if ours && !last && m.id != "" && r.conn.settle(m.id, f.answer()) {
		return nil
	}
	return &StatusError{Server: r.name, Status: resp.StatusCode, Text: printable(string(data), 300)}
}

// letter is one HTTP request, apart from what does not depend on it.
type letter struct {
	method string
	url    *url.URL // nil for the server's own
	body   []byte
	header map[string]string
}

// letter makes the request for a message, with the headers that the era wants.
func (r *remote) letter(m message) letter {
	l := letter{method: http.MethodPost, body: m.data, header: map[string]string{
		"Content-Type": typeJSON, "Accept": typeJSON + ", " + typeEvent,
	}}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Args json.RawMessage            `json:"arguments"`
	}
	var version string
	if json.Unmarshal(m.params, &p) == nil && json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version) == nil {
		l.header[headerVersion] = version
		l.header[headerMethod] = m.method
		switch m.method {
		case "tools/call":
			l.header[headerName] = encodeHeader(p.Name)
			r.mu.Lock()
			bound := r.bindings[p.Name]
			r.mu.Unlock()
			maps.Copy(l.header, values(bound, p.Args))
		case "prompts/get":
			l.header[headerName] = encodeHeader(p.Name)
		case "resources/read":
			l.header[headerName] = encodeHeader(p.URI)
		}
		return l
	}
	if r.paired {
		l.url = r.endpoint
	}
	if m.method != methodInitialize {
		r.addSession(l.header)
	}
	return l
}
