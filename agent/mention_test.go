package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A resource that a prompt names as @server:uri goes along with it; what is none stays what it is.
func TestMentionedResources(t *testing.T) {
	t.Parallel()
	menu := loop.Resource{URI: "menu://today", MIME: "text/plain", Text: "latte"}
	hours := loop.Resource{URI: "hours://week", Text: "9 to 5"}
	var prompts []string
	kit := func(m loop.Model) kitFunc {
		return func(context.Context, agent.Setup) (*agent.Kit, error) {
			return &agent.Kit{
				Model: func(string, string) (loop.Model, error) { return m, nil },
				Resource: func(_ context.Context, server, uri string) (loop.Blocks, error) {
					prompts = append(prompts, server+" "+uri)
					switch {
					case server == "cart" && uri == menu.URI:
						return loop.Blocks{menu}, nil
					case server == "cart" && uri == hours.URI:
						return loop.Blocks{hours}, nil
					case server == "cart" && uri == "gone://x":
						return nil, errors.New("server cart has ended")
					}
					return nil, nil
				},
			}, nil
		}
	}
	for _, row := range []struct {
		text  string
		want  loop.Blocks
		asked []string
	}{
		{"What is on @cart:menu://today?", loop.Blocks{menu}, []string{"cart menu://today?", "cart menu://today"}},
		{"@cart:menu://today", loop.Blocks{menu}, []string{"cart menu://today"}},
		{"(@cart:menu://today), and\n@cart:hours://week.", loop.Blocks{menu, hours}, []string{"cart menu://today),", "cart menu://today", "cart hours://week.", "cart hours://week"}},
		{"@cart:menu://today @cart:menu://today", loop.Blocks{menu}, []string{"cart menu://today"}},
		{"@cart:menu://never", nil, []string{"cart menu://never"}},
		{"mail me@cart:menu://today or @nobody or @cart: or @:x", nil, nil},
		{"@cart:gone://x", loop.Blocks{loop.Text{
			Text: "The user names the resource gone://x of the server cart, which could not be read: server cart has ended",
		}}, []string{"cart gone://x"}},
	} {
		prompts = nil
		model := scripted.New(scripted.Say("ok"))
		s := newStand(t, kit(model), &peer{})
		reason, err := s.prompt(row.text)
		require.NoError(t, err)
		assert.Equal(t, acp.StopEndTurn, reason)
		assert.Equal(t, row.asked, prompts, row.text)
		sent := model.Requests()[0].Messages[0].Content
		assert.Equal(t, append(row.want, loop.Text{Text: row.text}), sent)
		s.stop()
	}
}
