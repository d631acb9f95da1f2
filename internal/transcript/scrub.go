package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// mark stands where a secret of so many bytes was. It is as long, so that what is cut to a length is cut in the same place.
func mark(n int) string {
	const word = "secret"
	if n < len(word) {
		return strings.Repeat("*", n)
	}
	return "[" + (word + strings.Repeat("-", n))[:n-2] + "]"
}

// minSecret is the length from which on a value is a secret wherever it stands. A shorter one would take too much with
// it, and is hidden only where it is known to be one.
const minSecret = 6

// Secrets are what no file may hold. The zero value knows only what secrets usually look like.
type Secrets struct{ values []string }

// Add adds values that are secrets.
func (s *Secrets) Add(values ...string) {
	for _, v := range values {
		if v = strings.TrimSpace(v); len(v) >= minSecret && !slices.Contains(s.values, v) {
			s.values = append(s.values, v)
		}
	}
	// Of a secret that is in another one the longer is looked for first.
	slices.SortFunc(s.values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
}

// secretForms are what secrets look like that nobody has named. The first group is kept. In JSON they may begin behind an
// escape, such as that of a newline.
func secretForms() []*regexp.Regexp {
	const start = `(?:^|[^A-Za-z0-9_]|` + escapes + `)`
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(` + start + `bearer(?:\s|` + escapes + `)+)[A-Za-z0-9._~+/-]{8,}=*`),
		regexp.MustCompile(`(` + start + `)(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}`),
		regexp.MustCompile(`(` + start + `)gh[pousr]_[A-Za-z0-9]{20,}`),
		regexp.MustCompile(`(` + start + `)xox[abeprs]-[A-Za-z0-9-]{10,}`),
		regexp.MustCompile(`(` + start + `)AKIA[0-9A-Z]{16}\b`),
		regexp.MustCompile(`(` + start + `)AIza[0-9A-Za-z_-]{35}`),
	}
}

// text takes the secrets out of a text, which stays as long.
func (s Secrets) text(in string) string {
	for _, v := range s.values {
		in = strings.ReplaceAll(in, v, mark(len(v)))
		in = s.cut(in, v, func(part string) string { return part })
	}
	for _, form := range secretForms() {
		in = masked(form, in)
	}
	return in
}

// masked marks what a form finds, behind its first group.
func masked(form *regexp.Regexp, in string) string {
	var out strings.Builder
	at := 0
	for _, m := range form.FindAllStringSubmatchIndex(in, -1) {
		out.WriteString(in[at:m[3]] + mark(m[1]-m[3]))
		at = m[1]
	}
	return out.String() + in[at:]
}

// cut marks what is left of a secret where a text was cut in the middle of it.
func (s Secrets) cut(in, secret string, spelled func(string) string) string {
	const end = "…"
	if !strings.Contains(in, spelled(secret[:minSecret])) {
		return in
	}
	for n := len(secret) - 1; n >= minSecret; n-- {
		in = strings.ReplaceAll(in, spelled(secret[:n])+end, mark(len(secret))[:n]+end)
	}
	return in
}

// Format is the scenario's file without the secrets. It gives nothing where they cannot be taken out of it.
func (s Secrets) Format(sc *Scenario) ([]byte, error) {
	clean := *sc
	clean.Config, clean.Before, clean.After = s.files(sc.Config), s.files(sc.Before), s.files(sc.After)
	clean.Wire, clean.Inputs, clean.Model = slices.Clone(sc.Wire), slices.Clone(sc.Inputs), slices.Clone(sc.Model)
	for i, m := range clean.Wire {
		clean.Wire[i].In = withoutSettings(m.In)
	}
	s.chunks(&clean)
	data, err := clean.Format()
	if err != nil {
		return nil, err
	}
	out := string(data)
	for _, v := range s.values {
		for i, spelling := range spellings(v) {
			out = strings.ReplaceAll(out, string(spelling), mark(len(v)))
			out = s.cut(out, v, func(part string) string { return string(spellings(part)[i]) })
		}
	}
	for _, form := range secretForms() {
		out = masked(form, out)
	}
	if out == string(data) {
		return data, nil
	}
	if _, err := Parse([]byte(out)); err != nil {
		return nil, errors.New("a secret stands where it cannot be taken out of the recording")
	}
	return []byte(out), nil
}

func (s Secrets) files(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for name, data := range in {
		out[name] = s.text(data)
	}
	return out
}

// withoutSettings takes the values of environments and headers out of a request that names MCP servers, however short.
func withoutSettings(line json.RawMessage) json.RawMessage {
	if !bytes.Contains(line, []byte(`"mcpServers"`)) {
		return line
	}
	var v any
	if decode(line, &v) != nil {
		return line
	}
	m, _ := v.(map[string]any)
	params, _ := m["params"].(map[string]any)
	servers, _ := params["mcpServers"].([]any)
	hidden := false
	for _, server := range servers {
		spec, _ := server.(map[string]any)
		for _, key := range []string{"env", "headers"} {
			list, _ := spec[key].([]any)
			for _, e := range list {
				if entry, ok := e.(map[string]any); ok && entry["value"] != nil {
					entry["value"], hidden = mark(len("[secret]")), true
				}
			}
		}
	}
	if !hidden {
		return line
	}
	out, err := encode(v)
	if err != nil {
		return line
	}
	return out
}

// chunks takes out secrets that came in pieces: of each chunk of a text that holds a part of one, that part.
func (s Secrets) chunks(sc *Scenario) {
	for i := range sc.Model {
		x := &sc.Model[i]
		x.Chunks = slices.Clone(x.Chunks)
		for _, of := range []func(*Chunk) **string{
			func(c *Chunk) **string { return &c.Text }, func(c *Chunk) **string { return &c.Thought },
		} {
			var at []int
			var texts []string
			for k := range x.Chunks {
				if t := *of(&x.Chunks[k]); t != nil {
					at, texts = append(at, k), append(texts, *t)
				}
			}
			for n, clean := range s.pieces(texts) {
				*of(&x.Chunks[at[n]]) = &clean
			}
		}
	}
	s.eachMessage(sc)
}

// eachMessage does the same for the lines and the inputs that the chunks have become: those of one kind up to the next
// line that is no chunk.
func (s Secrets) eachMessage(sc *Scenario) {
	runs := func(n int, kindOf func(int) (string, string), put func(int, string)) {
		byKind := map[string][]int{}
		flush := func() {
			for kind, at := range byKind {
				texts := make([]string, len(at))
				for k, i := range at {
					_, texts[k] = kindOf(i)
				}
				for k, clean := range s.pieces(texts) {
					if clean != texts[k] {
						put(at[k], clean)
					}
				}
				delete(byKind, kind)
			}
		}
		for i := range n {
			if kind, _ := kindOf(i); kind != "" {
				byKind[kind] = append(byKind[kind], i)
			} else {
				flush()
			}
		}
		flush()
	}
	runs(len(sc.Wire), func(i int) (string, string) { return piece(sc.Wire[i].Out) },
		func(i int, text string) { sc.Wire[i].Out = withText(sc.Wire[i].Out, text) })
	runs(len(sc.Inputs), func(i int) (string, string) {
		var b struct{ Kind, Text string }
		if sc.Inputs[i].Kind != "Streamed" || json.Unmarshal(sc.Inputs[i].Body, &b) != nil {
			return "", ""
		}
		return b.Kind, b.Text
	}, func(i int, text string) {
		var b struct {
			Kind string `json:"kind"`
			Text string `json:"text"`
		}
		if json.Unmarshal(sc.Inputs[i].Body, &b) == nil {
			b.Text = text
			if body, err := encode(b); err == nil {
				sc.Inputs[i].Body = body
			}
		}
	})
}

// pieces are the parts of one text, without the secrets that go across their borders. They stay as long as they were.
func (s Secrets) pieces(texts []string) []string {
	whole := s.text(strings.Join(texts, ""))
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i], whole = whole[:len(t)], whole[len(t):]
	}
	return out
}
