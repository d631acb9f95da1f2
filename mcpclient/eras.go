package mcpclient

import (
	"strings"
	"sync"
)

// Eras remembers which servers are of the handshake era, so that the next connection to one begins with initialize: some
// take their time to ignore the probe, or do not survive it. One may serve all clients of a program.
type Eras struct {
	mu     sync.Mutex
	legacy map[string]bool
}

// NewEras remembers nothing yet.
func NewEras() *Eras { return &Eras{legacy: make(map[string]bool)} }

// eraKey is what makes a server the same one.
func eraKey(s Server) string {
	return strings.Join(append([]string{s.Type, s.URL, s.Dir, s.Command}, s.Args...), "\x00")
}

func (e *Eras) knowsLegacy(s Server) bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.legacy[eraKey(s)]
}

// note keeps the era of a server that was connected; empty forgets it.
func (e *Eras) note(s Server, era string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if era == EraLegacy {
		e.legacy[eraKey(s)] = true
		return
	}
	delete(e.legacy, eraKey(s))
}
