package cart

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openBook(t *testing.T, path string) *File {
	t.Helper()
	book, err := OpenFile(t.Context(), path)
	require.NoError(t, err)
	return book
}

// answers has a book answer a tool call of a caller, and gives the result; handle is for an order that it may start.
func answers(t *testing.T, b Book, env Env, tool, args string) map[string]any {
	t.Helper()
	reply, err := b.take(t.Context(), parse([]byte(modern(7, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), "{}"))), env)
	require.NoError(t, err)
	require.Nil(t, reply.Error)
	return resultOf(t, decoded(t, text(reply)))
}

// everything is all orders of a file, read by nothing but SQL.
func everything(t *testing.T, path string) map[Key]Order {
	t.Helper()
	all := map[Key]Order{}
	for k, body := range bodies(t, path) {
		o, err := readOrder(k, body)
		require.NoError(t, err)
		all[k] = o
	}
	return all
}

func bodies(t *testing.T, path string) map[Key][]byte {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), "SELECT caller, handle, body FROM orders")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	all := map[Key][]byte{}
	for rows.Next() {
		var k Key
		var body []byte
		require.NoError(t, rows.Scan(&k.Caller, &k.Handle, &body))
		all[k] = body
	}
	require.NoError(t, rows.Err())
	return all
}

func outlivesCart(c *customer) {
	t := c.t
	path := filepath.Join(t.TempDir(), "orders ?#%.db")
	env := Env{Caller: "ada", Now: start, Handle: "a\x00b"}
	book := openBook(t, path)
	answers(t, book, env, "create_order", "{}")
	answers(t, book, env, "add_item", `{"order":"a\u0000b","item":"latte","size":"large"}`)
	placed := answers(t, book, env, "place_order", `{"order":"a\u0000b","idempotency_key":"k\u0000"}`)
	env.Handle = "second"
	answers(t, book, env, "create_order", "{}")
	answers(t, book, env, "add_item", `{"order":"second","item":"morning bun"}`)
	require.NoError(t, book.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	book = openBook(t, path)
	assert.Equal(t, placed, answers(t, book, env, "place_order", `{"order":"a\u0000b","idempotency_key":"k\u0000"}`))
	got := answers(t, book, env, "place_order", `{"order":"second"}`)["structuredContent"].(map[string]any)
	assert.InDelta(t, 2, got["number"], 0)
	assert.Len(t, got["lines"], 1)
	env.Caller = "bob"
	assert.Equal(t, true, answers(t, book, env, "get_order", `{"order":"second"}`)["isError"])
	require.NoError(t, book.Close())
}

func killedCart(c *customer) {
	t := c.t
	path := filepath.Join(t.TempDir(), "orders.db")
	random := rand.New(rand.NewPCG(3, 4))
	const rounds = 9
	p := startProcess(t, path)
	for round := range rounds {
		order := p.fills(t)
		p.kill(t) // between two calls

		p = startProcess(t, path)
		place := fmt.Sprintf(`{"order":%q,"idempotency_key":"key %d"}`, order, round)
		p.sends(t, "place_order", place)
		var told map[string]any
		switch round % 3 {
		case 0: // the answer was read
			told = p.hears(t)
		case 1: // while it is being placed
			fired := make(chan struct{})
			time.AfterFunc(time.Duration(random.IntN(4000))*time.Microsecond, func() { close(fired) })
			<-fired
		}
		p.kill(t)

		p = startProcess(t, path)
		got := p.calls(t, "place_order", place)
		assert.InDelta(t, round+1, got["number"], 0, "placed once, whenever the cart was killed")
		if told != nil {
			assert.Equal(t, told, got, "what was told is so")
		}
	}
	p.end(t)
	all := everything(t, path)
	assert.Len(t, all, rounds)
	for k, o := range all {
		assert.Equal(t, Placed, o.Status, k)
		assert.Equal(t, []Line{{Item: "oat cookie", Cents: 275}}, o.Lines)
	}
}

func twoCarts(c *customer) {
	t := c.t
	path := filepath.Join(t.TempDir(), "orders.db")
	carts := []*process{startProcess(t, path), startProcess(t, path)} // both find no file, or one that is being begun
	const each = 25
	numbers := make([][]float64, len(carts))
	var wg sync.WaitGroup
	for i, p := range carts {
		wg.Go(func() {
			for range each {
				got := p.calls(t, "place_order", fmt.Sprintf(`{"order":%q}`, p.fills(t)))
				n, _ := got["number"].(float64)
				numbers[i] = append(numbers[i], n)
			}
		})
	}
	wg.Wait()
	var want []float64
	for n := range len(carts) * each {
		want = append(want, float64(n+1))
	}
	assert.ElementsMatch(t, want, append(numbers[0], numbers[1]...))

	order := carts[0].fills(t)
	place := fmt.Sprintf(`{"order":%q,"idempotency_key":"k"}`, order)
	assert.Equal(t, carts[1].calls(t, "place_order", place), carts[0].calls(t, "place_order", place), "they know each other's keys")
	for _, p := range carts {
		p.end(t)
	}
	assert.Len(t, everything(t, path), len(carts)*each+1)
}

func foreignFile(c *customer) {
	t := c.t
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	database := func(name, statement string) string {
		path := file(name, "")
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		return path
	}
	own := func(name string) string {
		path := filepath.Join(dir, name)
		book := openBook(t, path)
		for n := range 200 {
			answers(t, book, Env{Caller: "ada", Now: start, Handle: fmt.Sprint("h", n)}, "create_order", "{}")
		}
		require.NoError(t, book.Close())
		return path
	}
	damaged := own("damaged.db")
	data, err := os.ReadFile(damaged)
	require.NoError(t, err)
	for i := 4096; i < len(data); i++ {
		data[i] ^= 0x5a
	}
	require.NoError(t, os.WriteFile(damaged, data, 0o600))
	cut := own("cut.db")
	require.NoError(t, os.Truncate(cut, 5000))
	for path, want := range map[string]string{
		file("notes.txt", "milk, eggs"):                                                     "is not a cart's file",
		file("long.txt", strings.Repeat("milk, eggs\n", 1000)):                              "is not a cart's file",
		database("other.db", "CREATE TABLE films (title TEXT)"):                             "is a database of another program",
		database("numbered.db", "PRAGMA application_id = 7"):                                "is a database of another program",
		database("newer.db", "PRAGMA application_id = 1130459764; PRAGMA user_version = 2"): "newer cartagent",
		damaged: "is damaged", cut: "is damaged",
		dir:                                 "is not a file",
		filepath.Join(dir, "none", "or.db"): "no such file or directory",
	} {
		before, _ := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if statErr == nil && info.Mode().IsRegular() {
			require.NoError(t, os.Chmod(path, 0o644))
		}
		_, err := OpenFile(t.Context(), path)
		require.Error(t, err, path)
		assert.Contains(t, err.Error(), want, path)
		after, _ := os.ReadFile(path)
		assert.Equal(t, before, after, "%s stays as it was", path)
		if statErr == nil && info.Mode().IsRegular() {
			info, err = os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, fs.FileMode(0o644), info.Mode().Perm(), "%s stays as open as it was", path)
		}
	}
}

// What a book in a file answers and keeps is what one in memory does, though it sees but a part of the orders.
func TestFileAnswersAsMemoryDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	book, memory := openBook(t, path), &Memory{}
	random := rand.New(rand.NewPCG(5, 6))
	now := start
	for range 1000 {
		now += random.Int64N(10 * time.Minute.Milliseconds())
		if random.IntN(60) == 0 {
			now += (48 * time.Hour).Milliseconds()
		}
		order := fmt.Sprintf("h%d", random.IntN(6))
		env := Env{Caller: []string{"ada", "bob"}[random.IntN(2)], Now: now, Handle: order, Expire: 8 * time.Hour}
		message := []string{
			`"name":"create_order"`,
			`"name":"create_order"`,
			fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"oat cookie"}`, order),
			fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte","size":"large"}`, order),
			fmt.Sprintf(`"name":"remove_item","arguments":{"order":%q,"line":1}`, order),
			fmt.Sprintf(`"name":"place_order","arguments":{"order":%q,"idempotency_key":"k%d"}`, order, random.IntN(30)),
			fmt.Sprintf(`"name":"place_order","arguments":{"order":%q,"name":"N"}`, order),
			fmt.Sprintf(`"name":"cancel_order","arguments":{"order":%q}`, order),
			fmt.Sprintf(`"name":"get_order","arguments":{"order":%q}`, order),
			fmt.Sprintf(`"name":"get_order","arguments":{"orders":%q}`, order),
		}[random.IntN(10)]
		req := parse([]byte(modern(1, "tools/call", message, "{}")))
		want, err := memory.take(t.Context(), req, env)
		require.NoError(t, err)
		got, err := book.take(t.Context(), req, env)
		require.NoError(t, err)
		require.Equal(t, text(want), text(got), message)
		require.ElementsMatch(t, want.Changed, got.Changed)
	}
	require.NoError(t, book.Close())
	want := maps.Collect(memory.store.Orders())
	got := everything(t, path)
	require.Len(t, got, len(want))
	for k, o := range want {
		assert.Equal(t, text(o), text(got[k]))
	}
	assert.Greater(t, memory.store.last, int64(5), "the history is one that places orders")
}

// Messages that wait for one another share a transaction, and each is answered by itself.
func TestFileSharesTransactions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	book := openBook(t, path)
	const callers = 300
	var wg sync.WaitGroup
	numbers := make([]any, callers)
	for i := range callers {
		wg.Go(func() {
			env := Env{Caller: fmt.Sprint("caller ", i), Now: start, Handle: "h"}
			answers(t, book, env, "create_order", "{}")
			answers(t, book, env, "add_item", `{"order":"h","item":"oat cookie"}`)
			numbers[i] = answers(t, book, env, "place_order", `{"order":"h"}`)["structuredContent"].(map[string]any)["number"]
		})
	}
	wg.Wait()
	require.NoError(t, book.Close())
	var want []any
	for n := range callers {
		want = append(want, float64(n+1))
	}
	assert.ElementsMatch(t, want, numbers)
}

// hold keeps a file to itself, as another cart does that is at work on it, until the function is called.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path))
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	}
}

// What was cancelled before its turn came is not done, and says so; what waited behind it is.
func TestFileLeavesOutWhatWasCancelled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	book := openBook(t, path)
	env := Env{Caller: "ada", Now: start, Handle: "h"}
	answers(t, book, env, "create_order", "{}")
	answers(t, book, env, "add_item", `{"order":"h","item":"oat cookie"}`)
	release := hold(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var reply Reply
	var err error
	wg.Go(func() {
		reply, err = book.take(ctx, parse([]byte(modern(7, "tools/call", `"name":"place_order","arguments":{"order":"h"}`, "{}"))), env)
	})
	cancel()
	wg.Wait()
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, codeInternal, reply.Error.Code)
	assert.Equal(t, "open", answers(t, book, env, "get_order", `{"order":"h"}`)["structuredContent"].(map[string]any)["status"], "looking needs no turn")
	release()
	got := answers(t, book, env, "cancel_order", `{"order":"h"}`)["structuredContent"].(map[string]any)
	assert.Equal(t, "cancelled", got["status"])
	require.NoError(t, book.Close())
}

// A disk that fails is told to the client and in the error, nothing is kept, and the book goes on.
func TestFileSaysWhatFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	book := openBook(t, path)
	env := Env{Caller: "ada", Now: start, Handle: "h"}
	answers(t, book, env, "create_order", "{}")
	db, err := sql.Open("sqlite", dataSource(path))
	require.NoError(t, err)
	spoil := func(statement string) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	add := parse([]byte(modern(7, "tools/call", `"name":"add_item","arguments":{"order":"h","item":"oat cookie"}`, "{}")))
	spoil(`CREATE TRIGGER no BEFORE UPDATE ON orders BEGIN SELECT raise(ABORT, 'cable cut'); END`)
	reply, err := book.take(t.Context(), add, env)
	require.ErrorContains(t, err, "cable cut")
	assert.Equal(t, codeInternal, reply.Error.Code)
	assert.Equal(t, "7", string(reply.ID))
	assert.NotContains(t, text(reply), path)
	spoil(`DROP TRIGGER no`)
	reply, err = book.take(t.Context(), add, env)
	require.NoError(t, err)
	assert.Nil(t, reply.Error)
	assert.Len(t, everything(t, path)[Key{"ada", "h"}].Lines, 1)

	spoil(`UPDATE orders SET body = 'x'`)
	release := hold(t, path) // so that both wait for the same turn
	var wg sync.WaitGroup
	var damaged, sound error
	wg.Go(func() { _, damaged = book.take(t.Context(), add, env) })
	wg.Go(func() {
		other := env
		other.Caller = "bob"
		_, sound = book.take(t.Context(), parse([]byte(modern(7, "tools/call", `"name":"create_order"`, "{}"))), other)
	})
	release()
	wg.Wait()
	require.ErrorContains(t, damaged, "is damaged")
	require.NoError(t, sound, "the trouble of one order is not that of another")
	assert.Contains(t, bodies(t, path), Key{"bob", "h"})
	require.NoError(t, db.Close())
	require.NoError(t, book.Close())
}

// A file that others could read is closed to them.
func TestFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o664))
	book := openBook(t, path)
	answers(t, book, Env{Caller: "ada", Now: start, Handle: "h"}, "create_order", "{}")
	for range 2 {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
			require.NoError(t, os.Chmod(path+suffix, 0o644))
		}
		require.NoError(t, openBook(t, path).Close()) // another cart's
	}
	var synchronous int
	var journal string
	require.NoError(t, book.db.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous))
	require.NoError(t, book.db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&journal))
	assert.Equal(t, "2 wal", fmt.Sprint(synchronous, " ", journal), "a commit waits for the disk")
	require.NoError(t, book.Close())
}
