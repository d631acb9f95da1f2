package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// Names counts the names that differ from run to run. The first session is sess_000…1, the first order ord_1, the
// first address on loopback 127.0.0.1:1, and the workspace's folder is /workspace. Its zero value knows no folder.
type Names struct {
	folder  string
	counted map[string]string // by the name of this run
	real    map[string]string // by the counted name
	kinds   map[string]int
}

// Workspace is the folder that every scenario's workspace is in, on paper.
const Workspace = "/workspace"

// NewNames counts names in a run whose workspace is the folder.
func NewNames(folder string) *Names {
	return &Names{folder: folder, counted: map[string]string{}, real: map[string]string{}, kinds: map[string]int{}}
}

var changing = regexp.MustCompile(`\b(?:sess|ord)_[A-Za-z0-9-]+|\b127\.0\.0\.1:[0-9]+`)

// Count replaces the names of this run by counted ones.
func (n *Names) Count(line json.RawMessage) json.RawMessage {
	if n.folder != "" {
		line = bytes.ReplaceAll(line, []byte(n.folder), []byte(Workspace))
	}
	return changing.ReplaceAllFunc(line, func(name []byte) []byte {
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
		n.kinds[kind]++
		c := fmt.Sprintf(form, n.kinds[kind])
		n.counted[string(name)], n.real[c] = c, string(name)
		return []byte(c)
	})
}

// Real replaces counted names by those of this run. A name that has not come up yet stays as it is.
func (n *Names) Real(line json.RawMessage) json.RawMessage {
	if n.folder != "" {
		line = bytes.ReplaceAll(line, []byte(Workspace), []byte(n.folder))
	}
	return changing.ReplaceAllFunc(line, func(name []byte) []byte {
		if r, ok := n.real[string(name)]; ok {
			return []byte(r)
		}
		return name
	})
}
