package agent_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func compactionClient() *peer {
	return &peer{caps: acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Compaction: &acp.CompactionCapabilities{}}}}
}

// C062: compactions, those too that came to nothing, look after a load as they did live, to each client in its own way.
func TestC062CompactionsAreReplayed(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func() *peer{"able": compactionClient, "unable": func() *peer { return &peer{} }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := client()
				model := scripted.New(scripted.Say("one"), scripted.Say("two"), scripted.Reply{Text: []string{"cut o"}, Stop: loop.StopMaxTokens},
					scripted.Reply{Hang: true}, scripted.Say("the gist"), scripted.Say("three"))
				s := newStand(t, kitOf(model), p)
				for _, text := range []string{"1", "2"} {
					_, err := s.prompt(text)
					require.NoError(t, err)
				}
				_, err := s.prompt("/compact")
				require.ErrorContains(t, err, "no complete summary")
				done := make(chan acp.StopReason, 1)
				go func() {
					reason, _ := s.prompt("/compact")
					done <- reason
				}()
				synctest.Wait()
				s.cancel(t)
				assert.Equal(t, acp.StopCancelled, <-done)
				for _, text := range []string{"/compact", "3"} {
					reason, err := s.prompt(text)
					require.NoError(t, err)
					assert.Equal(t, acp.StopEndTurn, reason)
				}
				live := p.all()
				s.stop()

				for _, again := range []*peer{client(), compactionClient(), {}} {
					loader := newStandOn(t, kitOf(scripted.New()), again, s.store)
					_, err = load(loader, s.session)
					require.NoError(t, err)
					replayed := again.all()
					loader.stop()
					if (again.caps.Session == nil) == (p.caps.Session == nil) {
						assert.JSONEq(t, toJSON(t, joined(live)), toJSON(t, joined(withoutPrompts(replayed))))
					}
					told := toJSON(t, replayed)
					assert.Contains(t, told, "the gist")
					if again.caps.Session == nil {
						assert.NotContains(t, told, `"compaction_update"`)
						assert.Contains(t, told, "could not be summarized")
						continue
					}
					var kinds []string
					for _, u := range replayed[len(replayed)-7:] {
						var v struct{ SessionUpdate string }
						require.NoError(t, json.Unmarshal([]byte(toJSON(t, u)), &v))
						kinds = append(kinds, v.SessionUpdate)
					}
					assert.Equal(t, []string{
						"compaction_update", "user_message_chunk", "compaction_update", "compaction_summary_chunk", "compaction_update",
						"user_message_chunk", "agent_message_chunk",
					}, kinds, "the command comes before what it did")
				}
			})
		})
	}
}

// A compaction that a crash interrupted is ended when the session is loaded or resumed, and nothing was changed.
func TestAnInterruptedCompactionIsEnded(t *testing.T) {
	t.Parallel()
	for _, resumes := range []bool{false, true} {
		store, id := stored(
			loop.Prompted{MessageID: "msg_1_user", Content: loop.Blocks{loop.Text{Text: "go"}}},
			loop.Replied{Message: loop.Message{Content: loop.Blocks{loop.Text{Text: "gone"}}}, Stop: loop.StopEndTurn},
			loop.Compacting{MessageID: "compact_1_user", Content: loop.Blocks{loop.Text{Text: "/compact"}}},
		)
		p := compactionClient()
		model := scripted.New(scripted.Say("on"))
		s := newStandOn(t, kitOf(model), p, store)
		var err error
		if resumes {
			_, err = s.conn.ResumeSession(s.ctx(), &acp.ResumeSessionRequest{SessionID: id, Cwd: "/w"})
		} else {
			_, err = load(s, id)
		}
		require.NoError(t, err)
		told := p.all()
		require.NotEmpty(t, told)
		assert.Equal(t, acp.CompactionUpdate{CompactionID: "compaction_1", Status: acp.CompactionCancelled}, told[len(told)-1])
		s.session = id
		_, err = s.prompt("go on")
		require.NoError(t, err)
		assert.Len(t, model.Requests()[0].Messages, 3, "the history is as it was")
	}
}
