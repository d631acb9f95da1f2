package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// 1,000 sessions in one process, 100 of them prompting at once: all end well, in bounded memory, and after they are
// closed nothing of them is left.
func TestAThousandSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts goroutines and memory of the whole process")
	}
	const sessions, atOnce = 1000, 100
	before := runtime.NumGoroutine()
	var kits atomic.Int64
	open := func(context.Context, agent.Setup) (*agent.Kit, error) {
		kits.Add(1)
		model := scripted.New(scripted.Reply{Text: []string{"one ", "two"}, Calls: []loop.Call{loop.NewCall("", "free", "{}")}}, scripted.Say("done"))
		return &agent.Kit{
			Model: func(string, string) (loop.Model, error) { return model, nil },
			Tools: always([]loop.Tool{&tool{spec: loop.Spec{Name: "free", Default: loop.Allow}}}),
			Close: func() error { kits.Add(-1); return nil },
		}, nil
	}
	s := newStand(t, open, &peer{})
	ids := make([]acp.SessionID, sessions)
	for i := range ids {
		ids[i] = s.open(t)
	}
	var peak atomic.Uint64
	watch := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), m.HeapInuse+m.StackInuse))
	}
	work := make(chan acp.SessionID)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for id := range work {
				r, err := s.conn.Prompt(s.ctx(), &acp.PromptRequest{SessionID: id, Prompt: acp.ContentBlocks{acp.TextContent{Text: "go"}}})
				if assert.NoError(t, err) {
					assert.Equal(t, acp.StopEndTurn, r.StopReason)
				}
			}
		})
	}
	for i, id := range ids {
		work <- id
		if i%100 == 0 {
			watch()
		}
	}
	close(work)
	group.Wait()
	watch()
	assert.EqualValues(t, sessions, kits.Load())
	t.Logf("%d sessions: %d MiB at most", sessions, peak.Load()>>20)
	assert.Less(t, peak.Load(), uint64(300<<20), "memory")
	for _, id := range ids {
		_, err := s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: id})
		require.NoError(t, err)
	}
	assert.Zero(t, kits.Load(), "every session's kit is closed")
	s.stop()
	for range 200 {
		if runtime.NumGoroutine() <= before+5 {
			return
		}
		runtime.Gosched()
		<-time.After(5 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before+5, "goroutines are left")
}

// C070: what is opened and closed, and what is cancelled, leaves nothing behind.
func TestC070NothingPilesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := 0
		kit := func(context.Context, agent.Setup) (*agent.Kit, error) {
			open++
			model := scripted.New(scripted.Reply{Text: []string{"x"}, Hang: true}, scripted.Reply{Hang: true})
			return &agent.Kit{
				Model: func(string, string) (loop.Model, error) { return model, nil },
				Close: func() error { open--; return nil },
			}, nil
		}
		s := newStand(t, kit, &peer{})
		synctest.Wait()
		base := runtime.NumGoroutine()
		for range 200 {
			s.session = s.open(t)
			for range 2 {
				done := make(chan error, 1)
				go func() { _, err := s.prompt("go"); done <- err }()
				synctest.Wait()
				s.cancel(t)
				require.NoError(t, <-done)
			}
			_, err := s.conn.CloseSession(s.ctx(), &acp.CloseSessionRequest{SessionID: s.session})
			require.NoError(t, err)
			s.peer.all()
		}
		synctest.Wait()
		assert.Zero(t, open)
		assert.LessOrEqual(t, runtime.NumGoroutine(), base+10)
		s.stop()
	})
}

// lazyReader is a client's end that reads nothing until it is told to.
type lazyReader struct {
	io.ReadWriteCloser
	gate chan struct{}
}

func (l *lazyReader) Read(p []byte) (int, error) {
	<-l.gate
	return l.ReadWriteCloser.Read(p)
}

// A client that reads nothing for a minute holds up its turn and nothing else: no memory piles up, and once it reads,
// everything is there, and a cancel that it sent meanwhile works.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deltas := make([]string, 5000)
		for i := range deltas {
			deltas[i] = fmt.Sprintf("%d ", i)
		}
		var asked atomic.Int64
		model := scripted.New(scripted.Reply{Text: deltas, Hang: true, Check: func(loop.Request) error { asked.Add(1); return nil }})
		agentEnd, clientEnd := acp.Pipe()
		lazy := &lazyReader{ReadWriteCloser: clientEnd, gate: make(chan struct{}, 1<<20)}
		store := &memStore{logs: map[acp.SessionID]*memLog{}}
		var served *agent.Agent
		done := make(chan error, 1)
		go func() {
			done <- acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
				served = agent.New(c, agentOptions(kitOf(model), &peer{}, store))
				return served
			}, acp.Options{})
		}()
		p := &peer{}
		conn := acp.Dial(context.Background(), lazy, p, acp.Options{})
		for range 64 {
			lazy.gate <- struct{}{}
		}
		_, err := conn.Initialize(context.Background(), &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion})
		require.NoError(t, err)
		r, err := conn.NewSession(context.Background(), &acp.NewSessionRequest{Cwd: "/w"})
		require.NoError(t, err)
		synctest.Wait() // the commands have been told; two that wait to write would be no quiet for synctest
		reasons := make(chan acp.StopReason, 1)
		go func() {
			r, err := conn.Prompt(context.Background(), &acp.PromptRequest{SessionID: r.SessionID, Prompt: acp.ContentBlocks{acp.TextContent{Text: "go"}}})
			if assert.NoError(t, err) {
				reasons <- r.StopReason
			}
		}()
		synctest.Wait()
		<-time.After(time.Minute)
		synctest.Wait()
		logged := len(store.logs[r.SessionID].inputs)
		assert.Less(t, logged, 1000, "the model is held up too")
		require.NoError(t, conn.Cancel(context.Background(), &acp.CancelNotification{SessionID: r.SessionID}))
		for range 1 << 18 {
			lazy.gate <- struct{}{}
		}
		assert.Equal(t, acp.StopCancelled, <-reasons)
		text := p.text()
		assert.True(t, strings.HasPrefix(strings.Join(deltas, ""), text), "nothing is lost in between")
		assert.NotEmpty(t, text)
		close(lazy.gate)
		require.NoError(t, conn.Close())
		require.NoError(t, <-done)
		require.NoError(t, served.Close())
	})
}

// Two sessions run side by side: one whose tool blocks holds nobody up.
func TestSessionsAreIndependent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		first := true
		kit := func(context.Context, agent.Setup) (*agent.Kit, error) {
			block := first
			first = false
			return &agent.Kit{
				Model: func(string, string) (loop.Model, error) {
					return scripted.New(scripted.Ask("work", ""), scripted.Say("done")), nil
				},
				Tools: always([]loop.Tool{&tool{spec: loop.Spec{Name: "work", Default: loop.Allow}, run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
					if block {
						<-release
					}
					return loop.Result{}, ctx.Err()
				}}}),
			}, nil
		}
		s := newStand(t, kit, &peer{})
		stuck := make(chan error, 1)
		go func() { _, err := s.prompt("go"); stuck <- err }()
		synctest.Wait()
		other := s.open(t)
		r, err := s.conn.Prompt(s.ctx(), &acp.PromptRequest{SessionID: other, Prompt: acp.ContentBlocks{acp.TextContent{Text: "go"}}})
		require.NoError(t, err)
		assert.Equal(t, acp.StopEndTurn, r.StopReason)
		close(release)
		require.NoError(t, <-stuck)
		s.stop()
	})
}

// BenchmarkLoad is a session/load of a session with 5,000 updates, to the last line on the wire.
func BenchmarkLoad(b *testing.B) {
	inputs := []loop.Input{loop.Prompted{Content: loop.Blocks{loop.Text{Text: "go"}}}}
	for range 5000 {
		inputs = append(inputs, loop.Streamed{Kind: loop.ChunkText, Text: "a few words "})
	}
	inputs = append(inputs, loop.Replied{Message: loop.Message{Content: loop.Blocks{loop.Text{Text: "x"}}}, Stop: loop.StopEndTurn})
	store, id := stored(inputs...)
	agentEnd, client := acp.Pipe()
	go func() {
		_ = acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
			return agent.New(c, agentOptions(kitOf(scripted.New()), &peer{}, store))
		}, acp.Options{})
	}()
	lines := bufio.NewReaderSize(client, 1<<16)
	ask := func(request, answer string) (updates int) {
		_, err := io.WriteString(client, request+"\n")
		require.NoError(b, err)
		for {
			line, err := lines.ReadSlice('\n')
			require.NoError(b, err)
			if bytes.HasPrefix(line, []byte(answer)) {
				return updates
			}
			updates++
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`, `{"id":1`)
	load := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":"/w","mcpServers":[]}}`, id)
	b.ReportAllocs()
	for b.Loop() {
		require.Greater(b, ask(load, `{"id":2`), 5000)
	}
	b.ReportMetric(5000*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	require.NoError(b, client.Close())
}
