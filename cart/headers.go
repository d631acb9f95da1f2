package cart

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// The headers that repeat what the message says, for those on the way that do not read it.
const (
	headerVersion = "MCP-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// isLegacyHTTP reports whether a message that names no version itself belongs to the handshake era, by its headers. That
// era has no such header on initialize, and none at all in its older revisions. There are no sessions, so no handshake
// need have gone before.
func isLegacyHTTP(h http.Header, req request) bool {
	versions := h.Values(headerVersion)
	if req.method == "initialize" || len(versions) == 0 && len(h.Values(headerMethod)) == 0 {
		return true
	}
	return len(versions) == 1 && slices.Contains(legacyVersions(), versions[0])
}

// mismatch says how the headers differ from the message that they came with; nil where they agree.
func mismatch(h http.Header, req request) *Error {
	if req.response {
		return fail(codeInvalidRequest, "Invalid Request: the cart asks nothing, so there is nothing to respond to")
	}
	version, fault := one(h, headerVersion)
	if fault != nil {
		return fault
	}
	meta, _ := asObject(req.params["_meta"])
	if said, ok := asString(meta[metaVersion]); ok && said != version {
		return fail(codeHeaderMismatch, "Header mismatch: %s is %q, and _meta says %q", headerVersion, clip(version), clip(said))
	} else if !ok && req.silent && version != Version {
		return &Error{
			Code: codeUnsupportedVersion, Message: "Unsupported protocol version",
			Data: body{"supported": []string{Version}, "requested": version},
		}
	}
	method, fault := one(h, headerMethod)
	if fault != nil {
		return fault
	}
	if method != req.method {
		return fail(codeHeaderMismatch, "Header mismatch: %s is %q, and the message's method %q", headerMethod, clip(method), clip(req.method))
	}
	return nameMismatch(h, req)
}

func nameMismatch(h http.Header, req request) *Error {
	from := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[req.method]
	said, ok := asString(req.params[from])
	if from == "" || !ok {
		return nil // there is nothing to compare; a name that is missing is told as such
	}
	raw, fault := one(h, headerName)
	if fault != nil {
		return fault
	}
	name, ok := decodeHeader(raw)
	if !ok {
		return fail(codeHeaderMismatch, "Header mismatch: %s must be visible ASCII, or =?base64?…?= of UTF-8", headerName)
	}
	if name != said {
		return fail(codeHeaderMismatch, "Header mismatch: %s is %q, and params.%s %q", headerName, clip(name), from, clip(said))
	}
	return nil
}

// one is a header that must be there once.
func one(h http.Header, name string) (string, *Error) {
	values := h.Values(name)
	switch len(values) {
	case 1:
		return values[0], nil
	case 0:
		return "", fail(codeHeaderMismatch, "Header mismatch: %s is missing", name)
	default:
		return "", fail(codeHeaderMismatch, "Header mismatch: %s is there %d times", name, len(values))
	}
}

// decodeHeader reads a header's value: as it stands, or from base64 where it is marked as such.
func decodeHeader(value string) (string, bool) {
	if inner, marked := strings.CutPrefix(value, "=?base64?"); marked {
		inner, ended := strings.CutSuffix(inner, "?=")
		decoded, err := base64.StdEncoding.Strict().DecodeString(inner)
		return string(decoded), ended && err == nil && utf8.Valid(decoded)
	}
	odd := strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
	return value, !odd
}
