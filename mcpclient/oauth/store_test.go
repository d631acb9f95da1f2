package oauth

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childVar makes the test binary a process that wants a token: it is the folder of the store; serverVar is the server.
const (
	childVar  = "OAUTH_TEST_STORE"
	serverVar = "OAUTH_TEST_SERVER"
)

// runChild is that process: it says that it is there, waits for a line, and prints the token.
func runChild() bool {
	dir := os.Getenv(childVar)
	if dir == "" {
		return false
	}
	out := os.Stderr
	h, err := New(Config{Server: os.Getenv(serverVar), Store: NewStore(dir), Grant: AuthorizationCode{}})
	if err == nil {
		_, _ = fmt.Fprintln(out, "ready")
		_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	if err == nil {
		var e *entry
		if e, err = h.current(context.Background()); err == nil {
			_, _ = fmt.Fprintln(out, e.Access)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, "error:", err)
	}
	return true
}

// signedIn is a handler that has a token, and its store's folder.
func signedIn(t *testing.T, a *authority, s *shop, c *clock) (*Handler, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state", "tokens")
	h := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{Browser: &follower{}}, Now: c.now})
	_, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	require.NotEmpty(t, a.live)
	return h, dir
}

func TestARestartNeedsNobody(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{methods: []string{authBasic}})
	s := newShop(t, a)
	c := newClock()
	_, dir := signedIn(t, a, s, c)
	again := func() *Handler {
		return newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{}, Now: c.now})
	}
	for i, after := range []time.Duration{0, time.Hour, time.Hour} { // as it is, then refreshed twice
		c.forward(after)
		status, err := buy(t.Context(), again(), s.url)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
		require.Len(t, a.saw().requests, 1+i)
		assert.Equal(t, "registered-1", a.saw().basic[i])
		assert.Equal(t, s.url, a.saw().requests[i].Get("resource"))
	}
	assert.NotEqual(t, a.saw().requests[1].Get("refresh_token"), a.saw().requests[2].Get("refresh_token"), "rotated")
	assert.NotContains(t, s.heard()[len(s.heard())-3:], "", "no request went without a token")
}

func TestAProcessIsNotAsked(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{oneTime: true})
	s := newShop(t, a)
	c := newClock()
	_, dir := signedIn(t, a, s, c)
	c.forward(2 * time.Hour)
	h := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{}, Now: c.now})
	_, err := buy(t.Context(), h, s.url)
	require.ErrorIs(t, err, ErrNobody)
	assert.Empty(t, s.heard()[len(s.heard())-1], "a token that has run out is not sent")
}

func TestATokenThatTheServerNoLongerTakesIsRefreshedOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	h, _ := signedIn(t, a, s, newClock())
	a.revoke()
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	visits, requests := a.counts()
	assert.Equal(t, []int{1, 2}, []int{visits, requests}, "nobody was asked")
	a.revoke()
	_, err = buy(t.Context(), h, s.url)
	require.NoError(t, err)
	visits, _ = a.counts()
	assert.Equal(t, 2, visits, "a refreshed token that is not taken either does not help")
}

func TestARefusedRefreshLeadsToThePerson(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	s.scopes = "read"
	c := newClock()
	h, dir := signedIn(t, a, s, c)
	c.forward(time.Hour)
	a.mu.Lock()
	clear(a.refresh)
	a.mu.Unlock()
	source, err := h.TokenSource(t.Context())
	require.NoError(t, err)
	assert.Nil(t, source)
	list, err := NewStore(dir).List()
	require.NoError(t, err)
	assert.Empty(t, list, "what is dead is not kept")
	s.with(func() { s.scopes = "write" })
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "read write", a.saw().visits[1].Get("scope"), "the scopes are still known")
}

func TestARefreshThatFailsLosesNothing(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	c := newClock()
	h, _ := signedIn(t, a, s, c)
	a.intercept = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	c.forward(time.Hour - skew/2)
	source, err := h.TokenSource(t.Context())
	require.NoError(t, err)
	require.NotNil(t, source, "for some seconds the token is still good")
	c.forward(skew)
	_, err = h.TokenSource(t.Context())
	require.ErrorContains(t, err, "refused: status 503")
	a.intercept = nil
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	visits, _ := a.counts()
	assert.Equal(t, 1, visits)
}

func TestACancelledRefreshKeepsWhatItGot(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	c := newClock()
	h, dir := signedIn(t, a, s, c)
	c.forward(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	a.before = func(url.Values) { cancel() }
	_, err := h.TokenSource(ctx)
	require.NoError(t, err)
	e, _, err := NewStore(dir).load(h.server)
	require.NoError(t, err)
	assert.Contains(t, a.refresh, e.Refresh, "the new one is stored")
}

func TestProcessesThatRefreshAtTheSameTimeDoItOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	h, dir := signedIn(t, a, s, newClock())
	e, err := h.stored()
	require.NoError(t, err)
	e.Expires = time.Now().Add(-time.Hour)
	require.NoError(t, h.cfg.Store.save(e))
	self, err := os.Executable()
	require.NoError(t, err)
	const processes = 4
	var lines []*bufio.Reader
	var inputs []io.WriteCloser
	for range processes {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), childVar+"="+dir, serverVar+"="+s.url)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		reader := bufio.NewReader(out)
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready\n", line)
		lines, inputs = append(lines, reader), append(inputs, in)
	}
	for _, in := range inputs {
		_, err := io.WriteString(in, "go\n")
		require.NoError(t, err)
	}
	for _, reader := range lines {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		_, good := a.accepts(strings.TrimSpace(line))
		assert.True(t, good, line)
	}
	_, requests := a.counts()
	assert.Equal(t, 2, requests, "one code, one refresh")
	assert.Len(t, a.refresh, 1, "and no token was used twice")
}

// Of two processes that a server refuses at the same time, one has the person sign in, and the other one waits for it.
func TestProcessesAskAPersonOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	inside, goOn, told := make(chan struct{}), make(chan struct{}), make(chan struct{})
	dir := t.TempDir()
	first := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{Browser: browser(
		func(ctx context.Context, _, address string) error {
			close(inside)
			<-goOn
			return (&follower{}).Open(ctx, "", address)
		},
	)}})
	b := &follower{}
	second := newHandler(t, Config{
		Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{Browser: b}, Elsewhere: func() { close(told) },
	})
	nobody := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{}})
	results := make(chan error, 2)
	go func() { _, err := buy(t.Context(), first, s.url); results <- err }()
	<-inside
	_, err := buy(t.Context(), nobody, s.url)
	require.ErrorIs(t, err, ErrNobody, "who has nobody to ask waits for nobody")
	go func() { _, err := buy(t.Context(), second, s.url); results <- err }()
	<-told
	close(goOn)
	for range 2 {
		require.NoError(t, <-results)
	}
	visits, requests := a.counts()
	assert.Equal(t, []int{1, 1}, []int{visits, requests})
	assert.Zero(t, b.count())
}

// One that waits for another process asks by itself when that has failed, or takes longer than a person may.
func TestAProcessIsNotWaitedForInVain(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"it fails": time.Hour, "it hangs": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, settings{})
			s := newShop(t, a)
			dir := t.TempDir()
			b := &follower{}
			h := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{Browser: b, Wait: wait}})
			release, err := NewStore(dir).consent(t.Context(), h.server, func() { assert.Fail(t, "nobody has it") })
			require.NoError(t, err)
			if name == "it fails" {
				h.cfg.Elsewhere = release
			} else {
				defer release()
			}
			status, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, 1, b.count())
		})
	}
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are of Unix")
	}
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	h, dir := signedIn(t, a, s, newClock())
	path := filepath.Join(dir, fileFor(h.server))
	mode := func(name string) os.FileMode {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	assert.Equal(t, os.FileMode(0o700), mode(dir))
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, names, 3, "the file, its lock, and that of who asks the person")
	for _, name := range names {
		assert.Equal(t, os.FileMode(0o600), mode(name))
	}
	require.NoError(t, os.Chmod(path, 0o644))
	var logged bytes.Buffer
	h.cfg.Log = debugLog(&logged)
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, logged.String(), "others could read")
	assert.Equal(t, os.FileMode(0o600), mode(path))
}

func TestADamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	h, dir := signedIn(t, a, s, newClock())
	path := filepath.Join(dir, fileFor(h.server))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	other := strings.Replace(string(good), s.url, "https://other.example", 1)
	for name, c := range map[string]struct{ text, why string }{
		"torn":       {string(good[:len(good)/2]), "it is not the JSON object that was written"},
		"empty":      {"", "it is not the JSON object"},
		"a list":     {"[1]", "it is not the JSON object"},
		"a number":   {strings.Replace(string(good), `"accessToken": "`, `"accessToken": 7, "x": "`, 1), "it is not the JSON object"},
		"of later":   {`{"cartagent":2}`, "it is of version 2"},
		"incomplete": {`{"cartagent":1,"server":"x"}`, "is missing"},
		"another's":  {other, "it is for another server"},
		"huge":       {strings.Repeat(" ", fetchLimit+1), "it is larger than 1 MiB"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		_, err := buy(t.Context(), h, s.url)
		require.ErrorIs(t, err, ErrDamaged, name)
		require.ErrorContains(t, err, c.why, name)
		require.ErrorContains(t, err, path+": ", name)
		require.ErrorContains(t, err, "delete this file and sign in again", name)
		assert.NotContains(t, err.Error(), "access-of", name)
		list, err := NewStore(dir).List()
		require.NoError(t, err)
		require.Len(t, list, 1)
		if name != "another's" {
			assert.Contains(t, list[0].Problem, c.why, name)
		}
	}
	had, err := NewStore(dir).Forget(t.Context(), s.url)
	require.NoError(t, err)
	assert.True(t, had, "a damaged one can be forgotten")
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = buy(t.Context(), h, s.url)
	require.ErrorContains(t, err, "it is not a file")
}

func TestListAndForget(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"in a folder": filepath.Join(t.TempDir(), "x"), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := NewStore(dir)
			list, err := store.List()
			require.NoError(t, err)
			assert.Empty(t, list)
			had, err := store.Forget(t.Context(), "https://shop.example")
			require.NoError(t, err)
			assert.False(t, had)
			until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
			for _, server := range []string{"https://b.example/mcp", "https://a.example/mcp"} {
				require.NoError(t, store.save(&entry{
					Server: server, Issuer: "https://as.example", Token: "https://as.example/token", ClientID: "x",
					Access: "secret", Refresh: "secret", Scopes: []string{"read"}, Expires: until,
				}))
			}
			list, err = store.List()
			require.NoError(t, err)
			want := Stored{Server: "https://a.example/mcp", Issuer: "https://as.example", Scopes: []string{"read"}, Expires: until, Refreshes: true}
			require.Len(t, list, 2)
			assert.Equal(t, want, list[0])
			assert.NotContains(t, fmt.Sprintf("%+v", list), "secret")
			if dir != "" {
				left := filepath.Join(dir, fileFor("https://a.example/mcp")+".ABC.tmp")
				require.NoError(t, os.WriteFile(left, []byte("secret"), 0o600))
				defer func() { assert.NoFileExists(t, left) }()
			}
			had, err = store.Forget(t.Context(), "HTTPS://A.example:443/mcp#x")
			require.NoError(t, err)
			assert.True(t, had)
			list, err = store.List()
			require.NoError(t, err)
			require.Len(t, list, 1)
			assert.Equal(t, "https://b.example/mcp", list[0].Server)
		})
	}
}

func TestALockIsWaitedForAsLongAsTheContextLasts(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), ""} {
		store := NewStore(dir)
		unlock, err := store.lock(t.Context(), "https://a.example")
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		other, err := store.lock(ctx, "https://b.example")
		require.NoError(t, err, "servers do not wait for each other")
		other()
		cancel(errors.New("enough"))
		_, err = store.lock(ctx, "https://a.example")
		require.ErrorContains(t, err, "enough")
		unlock()
		unlock, err = store.lock(t.Context(), "https://a.example")
		require.NoError(t, err)
		unlock()
	}
}

func TestWhatCannotBeStoredIsUsedAllTheSame(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	dir := t.TempDir()
	var logged bytes.Buffer
	b := &follower{}
	h := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{Browser: b}, Log: debugLog(&logged)})
	require.NoError(t, os.Mkdir(filepath.Join(dir, strings.TrimSuffix(fileFor(h.server), ".json")+".lock"), 0o700))
	for range 2 {
		status, err := buy(t.Context(), h, s.url)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
	}
	assert.Equal(t, 1, b.count())
	assert.Contains(t, logged.String(), "credentials are not stored")
	assert.NotContains(t, logged.String(), "access-of")
}

func TestAClientThatWasConfiguredSinceIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{methods: []string{authNone, authBasic}})
	a.clients["mine"] = client{"hunter2", authBasic}
	s := newShop(t, a)
	_, dir := signedIn(t, a, s, newClock())
	b := &follower{}
	h := newHandler(t, Config{Server: s.url, Store: NewStore(dir), Grant: AuthorizationCode{Browser: b, Client: Client{ID: "mine", Secret: "hunter2"}}})
	_, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, 1, b.count())
	text, err := os.ReadFile(filepath.Join(dir, fileFor(h.server)))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "hunter2", "a configured secret is not copied")

	// The client has no configured issuer, so the first one is it.
	other := newAuthority(t, settings{methods: []string{authBasic}})
	a.revoke()
	s.with(func() { s.as = other })
	_, err = buy(t.Context(), h, s.url)
	require.ErrorIs(t, err, ErrUntrusted)
	require.ErrorContains(t, err, "forget what is stored for this server and sign in again")
	assert.Empty(t, other.saw().requests)
}
