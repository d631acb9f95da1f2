package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/cartagent/cartagent/loop"
)

// Budget is how much of a model's window the tools of servers may take before they are put on the shelf.
type Budget struct {
	Tools int // how many; 0 is no bound
	Bytes int // of their names, descriptions and schemas; 0 is no bound
}

// DefaultTools is the number of tools that are listed whole.
const DefaultTools = 40

// Shelf offers a model the tools of a host: all of them within a budget, else an index of them (Index) and the tool
// tool_search, and a tool itself only once it was found. What was offered stays so, in its place; what comes late, or is
// found, comes at the end. Its methods may be called from any goroutine.
type Shelf struct {
	host   *Host
	budget Budget

	mu    sync.Mutex
	known map[string]bool // tools that the session was offered before, by another shelf
	seen  map[string]bool
	shown []loop.Tool
	kept  []loop.Tool // on the shelf
	used  bool        // something was on it, so there is tool_search, for good
}

// NewShelf makes the shelf of a host. What HostOptions.Known names is offered again, whatever the budget.
func NewShelf(h *Host, b Budget) *Shelf {
	s := &Shelf{host: h, budget: b, known: make(map[string]bool), seen: make(map[string]bool)}
	for _, spec := range h.o.Known {
		s.known[spec.Name] = true
	}
	s.used = s.known[searchName]
	return s
}

// Tools are those to offer now.
func (s *Shelf) Tools() []loop.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sort()
	if !s.used {
		return slices.Clone(s.shown)
	}
	return append([]loop.Tool{(*searchTool)(s)}, s.shown...)
}

// sort finds a place for the tools that have come since, and takes out those that the host has no more. The caller holds
// mu.
func (s *Shelf) sort() {
	var fresh []loop.Tool
	now := make(map[string]loop.Tool)
	for _, t := range s.host.Tools() {
		name := t.Spec().Name
		if now[name] = t; !s.seen[name] {
			s.seen[name] = true
			fresh = append(fresh, t)
		}
	}
	s.shown, s.kept = renew(s.shown, now), renew(s.kept, now)
	over := s.used || s.over(append(slices.Clip(s.shown), fresh...))
	for _, t := range fresh {
		if over && !s.known[t.Spec().Name] {
			s.kept, s.used = append(s.kept, t), true
			continue
		}
		s.shown = append(s.shown, t)
	}
}

func (s *Shelf) over(tools []loop.Tool) bool {
	size := 0
	for _, t := range tools {
		spec := t.Spec()
		size += len(spec.Name) + len(spec.Description) + len(spec.Schema)
	}
	return s.budget.Tools > 0 && len(tools) > s.budget.Tools || s.budget.Bytes > 0 && size > s.budget.Bytes
}

// maxIndex bounds the index, in bytes.
const maxIndex = 8 << 10

// Index names what is on the shelf, by server, for a model; empty where nothing is.
func (s *Shelf) Index() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sort()
	var servers []string
	names := make(map[string][]string)
	for _, t := range s.kept {
		server, name, _ := strings.Cut(t.Spec().Name, joint)
		if names[server] == nil {
			servers = append(servers, server)
		}
		names[server] = append(names[server], name)
	}
	var b strings.Builder
	for _, server := range servers {
		line := server + ": " + strings.Join(names[server], ", ") + "\n"
		if b.Len()+len(line) > maxIndex {
			line = fmt.Sprintf("%s: %d tools\n", server, len(names[server]))
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}

const searchName = loop.SearchTool

// searchTool is the tool tool_search {query} of a shelf.
type searchTool Shelf

// Spec is loop.Tool's.
func (*searchTool) Spec() loop.Spec { return SearchSpec() }

// SearchSpec describes the tool tool_search, the same for every shelf.
func SearchSpec() loop.Spec {
	return loop.Spec{
		Name: searchName, Title: "Search tools",
		Description: "Finds tools of MCP servers that are not listed here, by words of their names, descriptions and arguments, or " +
			"by a whole name. What it finds is listed from your next reply on, and can be called then.",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do, in a few words, or its name"}},` +
			`"required":["query"],"additionalProperties":false}`),
		Kind: loop.KindSearch, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}
}

func (*searchTool) query(c loop.Call) (string, error) {
	var args struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return "", fmt.Errorf("the argument of %s is query, a string: %w", searchName, err)
	}
	if len(words(args.Query)) == 0 {
		return "", errors.New("the query has no word in it; say what the tool should do")
	}
	return strings.TrimSpace(args.Query), nil
}

// Preview is loop.Tool's.
func (t *searchTool) Preview(_ context.Context, c loop.Call) (loop.Preview, error) {
	query, err := t.query(c)
	return loop.Preview{Title: printable("Search tools: "+query, 150)}, err
}

// maxFound is how many tools one search takes from the shelf.
const maxFound = 6

// Run is loop.Tool's.
func (t *searchTool) Run(_ context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	query, err := t.query(j.Call)
	if err != nil {
		return loop.Result{}, err
	}
	text := (*Shelf)(t).take(query)
	return loop.Result{CallID: j.Call.ID, Content: loop.Blocks{loop.Text{Text: text}}}, nil
}

// take offers what fits the query best, and tells of it.
func (s *Shelf) take(query string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sort()
	if slices.ContainsFunc(s.shown, func(t loop.Tool) bool { return t.Spec().Name == query }) {
		return query + " is listed already."
	}
	asked := telling(words(query))
	type hit struct {
		tool  loop.Tool
		score int
	}
	var hits []hit
	for _, t := range s.kept {
		if spec := t.Spec(); spec.Name == query {
			hits = []hit{{t, 1}}
			break
		} else if n := score(spec, asked); n > 0 {
			hits = append(hits, hit{t, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	more := max(len(hits)-maxFound, 0)
	var b strings.Builder
	for _, h := range hits[:len(hits)-more] {
		spec := h.tool.Spec()
		s.kept = slices.DeleteFunc(s.kept, func(t loop.Tool) bool { return t.Spec().Name == spec.Name })
		s.shown = append(s.shown, h.tool)
		line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(spec.Description, spec.Title)), "\n")
		fmt.Fprintf(&b, "%s: %s\n", spec.Name, printable(line, 200))
	}
	switch {
	case len(hits) == 0:
		return "No tool that is not listed already fits these words. Try others, or a name of the index that came with the first message."
	case more > 0:
		fmt.Fprintf(&b, "%d more fit less well; search again with other words to have them.\n", more)
	}
	return strings.TrimSpace(b.String()) + "\nThey can be called from your next reply on."
}

// words are those of a text in lower case; a capital behind a small letter begins one, as in names.
func words(text string) []string {
	var parted strings.Builder
	small := false
	for _, r := range text {
		if small && unicode.IsUpper(r) {
			parted.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		parted.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(parted.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// telling leaves out the words that say nothing of a tool, unless there are no others.
func telling(all []string) []string {
	const empty = " a an and at by for from in into it of on or some that the this to tool tools which with "
	out := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return strings.Contains(empty, " "+w+" ") })
	if len(out) == 0 {
		return all
	}
	return out
}

// score says how well a tool fits the words: most by its name, least by what its description says.
func score(spec loop.Spec, asked []string) int {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(spec.Schema, &schema) // one that is odd has no names to search
	var names []string
	for name := range schema.Properties {
		names = append(names, words(name)...)
	}
	total := 0
	for _, w := range asked {
		best := 0
		for _, in := range []struct {
			words  []string
			weight int
		}{{words(spec.Name), 8}, {words(spec.Title), 4}, {names, 2}, {words(spec.Description), 2}} {
			for _, have := range in.words {
				switch {
				case have == w:
					best = max(best, in.weight)
				case len(w) > 2 && (strings.HasPrefix(have, w) || len(have) > 2 && strings.HasPrefix(w, have)):
					best = max(best, in.weight/2)
				}
			}
		}
		total += best
	}
	return total
}
