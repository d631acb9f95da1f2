package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// Names counts the names that differ from run to run. The first session is sess_000…1, the first order ord_1, the
// first address on loopback 127.0.0.1:1, and the workspace's folder is /workspace. Its zero value knows no folder. Its
// methods may be called from any goroutine.
type Names struct {
	mu      sync.Mutex
	folders []folder
	plain   bool              // only the folders are counted
	counted map[string]string // by the name of this run
	real    map[string]string // by the counted name
	kinds   map[string]int
}

// folder is a folder by its name in this run and on paper, each as it is and as JSON writes it.
type folder struct{ now, paper [][]byte }

// Workspace is the folder that every scenario's workspace is in, on paper.
const Workspace = "/workspace"

// NewNames counts names in a run whose workspace is the folder.
func NewNames(work string) *Names {
	n := &Names{counted: map[string]string{}, real: map[string]string{}, kinds: map[string]int{}}
	if work != "" {
		n.Folder(work, Workspace)
	}
	return n
}

// NewPlainNames knows no names but those of folders: for a replay, in which all other names are those of the record.
func NewPlainNames(work string) *Names {
	n := NewNames(work)
	n.plain = true
	return n
}

// Folder is one more folder that has another name on paper.
func (n *Names) Folder(now, paper string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.folders = append(n.folders, folder{spellings(now), spellings(paper)})
	// Of a folder in another one the longer name comes first.
	slices.SortStableFunc(n.folders, func(a, b folder) int { return cmp.Compare(len(b.now[0]), len(a.now[0])) })
}

// spellings are a text as it is, as encoding/json writes it, and as JSON is usually written.
func spellings(s string) [][]byte {
	out := [][]byte{[]byte(s)}
	for _, escape := range []bool{true, false} {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(escape)
		if enc.Encode(s) == nil {
			t := bytes.TrimSpace(buf.Bytes())
			out = append(out, t[1:len(t)-1])
		}
	}
	return out
}

var (
	changing = regexp.MustCompile(`(?:sess|ord)_[A-Za-z0-9-]+|127\.0\.0\.1:[0-9]+`)
	inName   = regexp.MustCompile(`^[A-Za-z0-9_-]`)
	inWord   = regexp.MustCompile(`[A-Za-z0-9_]$`)
	inPath   = regexp.MustCompile(`[A-Za-z0-9_.-]$`)
	escaped  = regexp.MustCompile(escapes + `$`)
)

// escapes is what in JSON stands for a character that is no part of a name, and ends in one that could be.
const escapes = `\\(?:[bfnrt]|u[0-9a-fA-F]{4})`

// within says whether what is behind the text goes on with a name that the text ends in.
func within(name *regexp.Regexp, text []byte) bool {
	text = text[max(0, len(text)-8):]
	return name.Match(text) && !escaped.Match(text)
}

// swapNames replaces the names that change from run to run.
func swapNames(in []byte, by func([]byte) []byte) []byte {
	var out []byte
	at := 0
	for _, m := range changing.FindAllIndex(in, -1) {
		if within(inWord, in[:m[0]]) {
			continue
		}
		out = append(append(out, in[at:m[0]]...), by(in[m[0]:m[1]])...)
		at = m[1]
	}
	return append(out, in[at:]...)
}

// Count replaces the names of this run by counted ones.
func (n *Names) Count(line json.RawMessage) json.RawMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.folders {
		line = f.swap(line, f.now, f.paper)
	}
	if n.plain {
		return line
	}
	return swapNames(line, n.count)
}

func (n *Names) count(name []byte) []byte {
	if c, ok := n.counted[string(name)]; ok {
		return []byte(c)
	}
	kind, form := "host", "127.0.0.1:%d"
	switch {
	case bytes.HasPrefix(name, []byte("sess_")):
		kind, form = "sess", "sess_%016d"
	case bytes.HasPrefix(name, []byte("ord_")):
		kind, form = "ord", "ord_%d"
	}
	if n.counted == nil {
		n.counted, n.real, n.kinds = map[string]string{}, map[string]string{}, map[string]int{}
	}
	n.kinds[kind]++
	c := fmt.Sprintf(form, n.kinds[kind])
	n.counted[string(name)], n.real[c] = c, string(name)
	return []byte(c)
}

// CountText is Count for a text that is no JSON.
func (n *Names) CountText(s string) string { return string(n.Count(json.RawMessage(s))) }

// Real replaces counted names by those of this run. A name that has not come up yet stays as it is.
func (n *Names) Real(line json.RawMessage) json.RawMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	// On paper a longer name comes first too: /workspace-2 is not in /workspace.
	folders := slices.Clone(n.folders)
	slices.SortStableFunc(folders, func(a, b folder) int { return cmp.Compare(len(b.paper[0]), len(a.paper[0])) })
	for _, f := range folders {
		line = f.swap(line, f.paper, f.now)
	}
	if n.plain {
		return line
	}
	return swapNames(line, func(name []byte) []byte {
		if r, ok := n.real[string(name)]; ok {
			return []byte(r)
		}
		return name
	})
}

// RealText is Real for a text that is no JSON.
func (n *Names) RealText(s string) string { return string(n.Real(json.RawMessage(s))) }

// swap replaces the folder's name in all of its spellings.
func (f folder) swap(in []byte, old, by [][]byte) []byte {
	for i := range old {
		if i == 0 || !bytes.Equal(old[i], old[0]) {
			in = swap(in, old[i], by[i])
		}
	}
	return in
}

// swap replaces a folder's name, where it is not a part of a longer name.
func swap(in, old, by []byte) []byte {
	if len(old) == 0 || bytes.Equal(old, by) || !bytes.Contains(in, old) {
		return in
	}
	var out []byte
	for {
		i := bytes.Index(in, old)
		if i < 0 {
			return append(out, in...)
		}
		end := i + len(old)
		out = append(out, in[:i]...)
		if inName.Match(in[end:]) || within(inPath, out) {
			out = append(out, old...)
		} else {
			out = append(out, by...)
		}
		in = in[end:]
	}
}
