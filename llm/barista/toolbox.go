package barista

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// The tools of a cart, as they are called behind the prefix of their server.
const (
	toolCreate = "create_order"
	toolAdd    = "add_item"
	toolRemove = "remove_item"
	toolGet    = "get_order"
	toolPlace  = "place_order"
	toolCancel = "cancel_order"
	toolRead   = "mcp_read"

	menuURI   = "menu://today"
	delimiter = "__"
)

// toolbox is the cart as the tools of a request show it.
type toolbox struct {
	server string
	names  map[string]string // what a tool does to its full name
	named  bool              // place_order takes a customer's name
}

// findTools takes the first server that can both start an order and add to it. The second result is false when there
// is none.
func findTools(specs []loop.Spec) (toolbox, bool) {
	servers := map[string]map[string]loop.Spec{}
	var order []string
	read := ""
	for _, s := range specs {
		if s.Name == toolRead {
			read = s.Name
			continue
		}
		prefix, what := splitName(s.Name)
		if servers[prefix] == nil {
			servers[prefix] = map[string]loop.Spec{}
			order = append(order, prefix)
		}
		if _, taken := servers[prefix][what]; !taken {
			servers[prefix][what] = s
		}
	}
	for _, prefix := range order {
		of := servers[prefix]
		if of[toolCreate].Name == "" || of[toolAdd].Name == "" {
			continue
		}
		box := toolbox{server: prefix, names: map[string]string{}, named: takesName(of[toolPlace].Schema)}
		for _, what := range []string{toolCreate, toolAdd, toolRemove, toolGet, toolPlace, toolCancel} {
			if name := of[what].Name; name != "" {
				box.names[what] = name
			}
		}
		if read != "" {
			box.names[toolRead] = read
		}
		return box, true
	}
	return toolbox{}, false
}

// hashed ends the name of a tool whose server or own name does not fit what providers take.
var hashed = regexp.MustCompile(`_x[0-9a-f]{12}$`)

func splitName(name string) (prefix, what string) {
	if i := strings.LastIndex(name, delimiter); i >= 0 {
		return name[:i], hashed.ReplaceAllString(name[i+len(delimiter):], "")
	}
	return "", name
}

// takesName is false only for a schema that lists its properties without a name among them.
func takesName(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Properties == nil {
		return true
	}
	_, has := s.Properties["name"]
	return has
}

func (b toolbox) has(what string) bool { return b.names[what] != "" }

// what is the inverse of names: what a call does, or "" when it is not for this cart. A call of a tool that has since
// gone from the request still counts by its name.
func (b toolbox) what(name string) string {
	if name == toolRead {
		return toolRead
	}
	prefix, what := splitName(name)
	if prefix != b.server {
		return ""
	}
	return what
}

// call makes a call of the tool that does what.
func (b toolbox) call(what string, args map[string]any) loop.Call {
	raw, err := json.Marshal(args) // strings and ints only, keys in sorted order
	if err != nil {
		raw = []byte("{}")
	}
	return loop.NewCall("", b.names[what], string(raw))
}
