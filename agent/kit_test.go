package agent_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a kit has may change while the session is open: a server that comes late joins with its tools and commands, one
// that ends is told of once, and /mcp shows how it is now. Tools that stay keep their places.
func TestAKitThatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		named := func(names ...string) (out []loop.Tool) {
			for _, n := range names {
				out = append(out, &tool{spec: loop.Spec{Name: n}})
			}
			return out
		}
		type part struct {
			tools    []loop.Tool
			commands []agent.SlashCommand
			servers  []agent.Server
		}
		var now atomic.Pointer[part]
		changed := make(chan struct{}, 1)
		set := func(p part) {
			now.Store(&p)
			changed <- struct{}{}
			synctest.Wait()
		}
		now.Store(&part{tools: named("own", "shop__buy"), servers: []agent.Server{{Name: "shop", State: "connected", Tools: 1}, {Name: "late", State: "connecting"}}})
		model := scripted.New(scripted.Say("one"), scripted.Say("two"), scripted.Say("three"))
		p := &peer{caps: acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}}}
		s := newStand(t, func(context.Context, agent.Setup) (*agent.Kit, error) {
			return &agent.Kit{
				Model:    func(string, string) (loop.Model, error) { return model, nil },
				Tools:    func() []loop.Tool { return now.Load().tools },
				Commands: func() []agent.SlashCommand { return now.Load().commands },
				Servers:  func() []agent.Server { return now.Load().servers },
				Changed:  changed,
			}, nil
		}, p)
		say := func(text string) string {
			_, err := s.prompt(text)
			require.NoError(t, err)
			return p.text()
		}
		say("1")
		assert.Contains(t, say("/mcp"), "| late | connecting |  | 0 |")

		down := part{
			tools: named("own", "shop__buy", "late__look"), commands: []agent.SlashCommand{{Name: "late:help"}},
			servers: []agent.Server{{Name: "shop", State: "restarting", Why: "it ended"}, {Name: "late", State: "connected", Era: "modern", Tools: 1}},
		}
		set(down)
		set(down)
		assert.Equal(t, []acp.SessionUpdate{
			acp.Notice{Severity: acp.SeverityWarning, Title: "The MCP server shop is not available", Description: "it ended"},
		}, p.all(), "told once")
		commands, ok := p.aside[len(p.aside)-1].(acp.AvailableCommandsUpdate)
		require.True(t, ok)
		assert.Equal(t, "late:help", commands.AvailableCommands[len(commands.AvailableCommands)-1].Name)
		report := say("/mcp")
		assert.Contains(t, report, "| shop | restarting: it ended |")
		assert.Contains(t, report, "| late | connected | modern | 1 |")

		say("2")
		set(part{tools: named("late__look", "shop__buy", "own")})
		say("3")
		var offered [][]string
		for _, r := range model.Requests() {
			var names []string
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
			}
			offered = append(offered, names)
		}
		assert.Equal(t, [][]string{{"own", "shop__buy"}, {"own", "shop__buy", "late__look"}, {"own", "shop__buy", "late__look"}}, offered)
		s.stop()
	})
}
