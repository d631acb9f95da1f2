package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A tool that is always allowed asks again, in a later process too, once its server says something else of it.
func TestAChangedToolAsksInALaterProcess(t *testing.T) {
	t.Parallel()
	var replies []scripted.Reply
	for range 3 {
		replies = append(replies, scripted.Ask("shop__create_order", "{}"), scripted.Say("done"))
	}
	env := []string{"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + stubModel(t, replies)}
	p := startAgent(t, env...)
	const shop = `{"name":"shop","command":"sh","args":["-c","%s cart%s"],"env":[]}`
	session := p.open(t, fmt.Sprintf(shop, binary(t), ""))
	assert.Equal(t, []string{"shop: Start a pickup order"}, p.ask(t, 10, session, "1", "allow_always"))
	assert.Empty(t, p.ask(t, 11, session, "2", "reject_once"))
	p.end(t, p.closeInput)

	again := startAgent(t, append(env, "CARTAGENT_STATE_DIR="+filepath.Join(p.home, "state"))...)
	again.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	again.until(t, `"id":0`)
	other := fmt.Sprintf(shop, binary(t), " | sed -u 's/Start an empty/Begin a'/")
	again.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[%s]}}`, session, p.home, other)
	again.until(t, `"id":1`)
	again.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"3"}]}}`, session)
	assert.Contains(t, again.until(t, "request_permission"),
		"The tool shop__create_order has changed since you allowed it: its description. Look at it again before you allow it.")
	again.send(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}}`)
	again.until(t, `"id":2`)
	again.end(t, again.closeInput)
}

// What a session was offered it is offered again in a later process, byte for byte, also where the server does not come: a
// call says so then.
func TestToolsStayWhereTheirServerDoesNotCome(t *testing.T) {
	t.Parallel()
	sorry := scripted.Say("sorry")
	sorry.Expect = "the MCP server shop is not available"
	replies := []scripted.Reply{scripted.Say("hello"), scripted.Ask("shop__create_order", "{}"), sorry}
	var mu sync.Mutex
	var offered []string
	env := []string{"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + stubModelSeen(t, replies, func(body []byte) {
		var request struct{ Tools json.RawMessage }
		if err := json.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		offered = append(offered, string(request.Tools))
	})}
	p := startAgent(t, env...)
	session := p.open(t, fmt.Sprintf(`{"name":"shop","command":%q,"args":["cart"],"env":[]}`, binary(t)))
	assert.Empty(t, p.ask(t, 10, session, "1", "reject_once"))
	p.end(t, p.closeInput)

	again := startAgent(t, append(env, "CARTAGENT_STATE_DIR="+filepath.Join(p.home, "state"))...)
	again.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	again.until(t, `"id":0`)
	again.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[{"name":"shop","command":"false","args":[],"env":[]}]}}`,
		session, p.home)
	again.until(t, `"id":1`)
	assert.Empty(t, again.ask(t, 2, session, "2", "reject_once"))
	again.end(t, again.closeInput)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, offered, 3)
	assert.Contains(t, offered[0], "shop__create_order")
	assert.Equal(t, []string{offered[0], offered[0], offered[0]}, offered)
}

// A resource that a prompt names goes to the model beside it.
func TestAMentionedResourceReachesTheModel(t *testing.T) {
	t.Parallel()
	reply := scripted.Say("done")
	reply.Expect = `<resource uri=\"menu://today\"`
	p := startAgent(t, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+stubModel(t, []scripted.Reply{reply}))
	session := p.open(t, fmt.Sprintf(`{"name":"shop","command":%q,"args":["cart"],"env":[]}`, binary(t)))
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Which of @shop:menu://today is hot?"}]}}`, session)
	assert.Contains(t, p.until(t, `"id":2`), "end_turn")
	p.end(t, p.closeInput)
}
