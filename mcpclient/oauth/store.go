package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store keeps credentials for servers, one file a server, in a folder of its own: files 0600, the folder 0700. Several
// processes may use it at once. Its methods may be called from any goroutine.
type Store struct {
	dir string

	mu      sync.Mutex
	mem     map[string]*entry        // by server: what is in no file, for want of a folder or because writing it failed
	held    map[string]chan struct{} // locks where there is no folder, each of one place
	flights map[string]*flight       // authorizations under way, by server
}

// NewStore is the store in a folder, which is made when there is something to keep. Without a folder, what is stored
// lives as long as the store.
func NewStore(dir string) *Store {
	return &Store{
		dir: dir, mem: make(map[string]*entry), held: make(map[string]chan struct{}), flights: make(map[string]*flight),
	}
}

// Stored is what is known about the credentials for a server, without them.
type Stored struct {
	Server    string
	Issuer    string
	Scopes    []string
	Expires   time.Time // of the token; zero where the server did not say
	Refreshes bool      // a new one can be had without the person
	Problem   string    // why the file cannot be used; the rest may be empty then
}

// entry is a file: what a server's authorization server gave us. It is bound to both.
type entry struct {
	Version  int       `json:"cartagent"`
	Server   string    `json:"server"`
	Issuer   string    `json:"issuer"`
	Resource string    `json:"resource"`
	Token    string    `json:"tokenEndpoint"`
	Method   string    `json:"authMethod"`
	ClientID string    `json:"clientId"`
	Secret   string    `json:"clientSecret,omitempty"` // of a client that was registered for this; others' are configured
	Known    bool      `json:"clientConfigured,omitempty"`
	Access   string    `json:"accessToken,omitempty"`
	Refresh  string    `json:"refreshToken,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Scopes   []string  `json:"scopes,omitempty"`
}

const entryVersion = 1

// live says whether the token can still be used.
func (e *entry) live(now time.Time) bool {
	return e != nil && e.Access != "" && (e.Expires.IsZero() || now.Before(e.Expires))
}

// List tells what is stored, by server. A file that cannot be read is listed with its problem.
func (s *Store) List() ([]Stored, error) {
	var all []Stored
	add := func(e *entry) {
		if e.Access != "" || e.Refresh != "" {
			all = append(all, Stored{Server: e.Server, Issuer: e.Issuer, Scopes: e.Scopes, Expires: e.Expires, Refreshes: e.Refresh != ""})
		}
	}
	s.mu.Lock()
	for _, e := range s.mem {
		add(e)
	}
	s.mu.Unlock()
	if s.dir != "" {
		names, err := os.ReadDir(s.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing stored credentials: %w", err)
		}
		for _, n := range names {
			if filepath.Ext(n.Name()) != ".json" {
				continue
			}
			e, _, err := s.read(n.Name())
			if err != nil {
				all = append(all, Stored{Problem: err.Error()})
			} else if e != nil {
				add(e)
			}
		}
	}
	slices.SortFunc(all, func(a, b Stored) int { return strings.Compare(a.Server, b.Server) })
	return all, nil
}

// Forget removes what is stored for a server, readable or not, and says whether there was anything. It waits for a
// refresh that is under way.
func (s *Store) Forget(ctx context.Context, server string) (bool, error) {
	server, err := Canonical(server)
	if err != nil {
		return false, err
	}
	if s.dir != "" {
		if _, err := os.Lstat(s.dir); errors.Is(err, fs.ErrNotExist) {
			return s.drop(server), nil
		}
	}
	unlock, err := s.lock(ctx, server)
	if err != nil {
		return false, fmt.Errorf("removing stored credentials: %w", err)
	}
	defer unlock()
	had := s.drop(server)
	if s.dir == "" {
		return had, nil
	}
	err = s.in(func(root *os.Root) error {
		err := root.Remove(fileFor(server))
		had = had || err == nil
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, removeTemporary(root, fileFor(server)))
	})
	if err != nil {
		return had, fmt.Errorf("removing stored credentials: %w", err)
	}
	return had, nil
}

// load reads what is stored for a server; nil where there is nothing. The note says when others could read it.
func (s *Store) load(server string) (e *entry, note string, err error) {
	s.mu.Lock()
	held := s.mem[server]
	s.mu.Unlock()
	if held != nil {
		c := *held
		return &c, "", nil
	}
	if s.dir == "" {
		return nil, "", nil
	}
	e, note, err = s.read(fileFor(server))
	if err == nil && e != nil && e.Server != server {
		return nil, "", s.damaged(fileFor(server), "it is for another server")
	}
	return e, note, err
}

// hold keeps an entry for the life of the store alone.
func (s *Store) hold(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := *e
	s.mem[e.Server] = &c
}

// drop forgets what is held, and says whether there was anything.
func (s *Store) drop(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, had := s.mem[server]
	delete(s.mem, server)
	return had
}

// save stores an entry in place of the one before. The caller has the server's lock. What cannot be written is held, and
// the error says why.
func (s *Store) save(e *entry) error {
	e.Version = entryVersion
	if s.dir == "" {
		s.hold(e)
		return nil
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err == nil {
		err = s.in(func(root *os.Root) error { return replace(root, fileFor(e.Server), append(data, '\n')) })
	}
	if err != nil {
		s.hold(e)
		return fmt.Errorf("storing credentials: %w", err)
	}
	s.drop(e.Server)
	return nil
}

// fileFor is the name of a server's file: its host, to be found by eye, and a digest of the whole address.
func fileFor(server string) string {
	host := "server"
	if u, err := url.Parse(server); err == nil {
		host = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
				return r
			}
			return '_'
		}, u.Host)
	}
	sum := sha256.Sum256([]byte(server))
	return host[:min(len(host), 60)] + "-" + hex.EncodeToString(sum[:8]) + ".json"
}

func (s *Store) damaged(name, what string) error {
	return fmt.Errorf("%w: %s: %s; delete this file and sign in again", ErrDamaged, filepath.Join(s.dir, name), what)
}

// read never shows what is in a file: a decoder's own words may quote a part of a token.
func (s *Store) read(name string) (e *entry, note string, err error) {
	file, err := openIn(s.dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading stored credentials: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("reading stored credentials: %w", err)
	case !info.Mode().IsRegular():
		return nil, "", s.damaged(name, "it is not a file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		if err := file.Chmod(0o600); err != nil {
			return nil, "", s.damaged(name, "others may read it, and its mode cannot be changed")
		}
		note = fmt.Sprintf("others could read %s (mode %03o); its mode is 600 now, but sign in anew if others use this machine",
			filepath.Join(s.dir, name), info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(file, fetchLimit+1))
	if err != nil {
		return nil, "", fmt.Errorf("reading stored credentials: %w", err)
	}
	if len(data) > fetchLimit {
		return nil, "", s.damaged(name, "it is larger than 1 MiB")
	}
	e = new(entry)
	if json.Unmarshal(data, e) != nil {
		return nil, "", s.damaged(name, "it is not the JSON object that was written")
	}
	switch {
	case e.Version != entryVersion:
		return nil, "", s.damaged(name, fmt.Sprintf("it is of version %d, and this program knows version %d", e.Version, entryVersion))
	case e.Server == "" || e.Issuer == "" || e.Token == "" || e.ClientID == "":
		return nil, "", s.damaged(name, "server, issuer, tokenEndpoint or clientId is missing")
	}
	return e, note, nil
}
