package goclient

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// client is an editor that offers neither files nor terminals, and answers permissions with an option of kind answer.
type client struct {
	mu      sync.Mutex
	updates []acp.SessionUpdate
	asked   []acp.RequestPermissionRequest
	answer  acp.PermissionOptionKind
	onText  func()
}

var (
	errNotOffered = errors.New("the client does not offer this")
	errNoOption   = errors.New("the agent offers no such option")
)

func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.mu.Lock()
	c.updates = append(c.updates, n.Update)
	hear := c.onText
	c.mu.Unlock()
	if hear != nil && n.Update.AgentMessageChunk != nil {
		hear()
	}
	return nil
}

func (c *client) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r)
	at := slices.IndexFunc(r.Options, func(o acp.PermissionOption) bool { return o.Kind == c.answer })
	if at < 0 {
		return acp.RequestPermissionResponse{}, errNoOption
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(r.Options[at].OptionId)}, nil
}

func (c *client) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNotOffered
}

func (c *client) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, errNotOffered
}

func (c *client) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNotOffered
}

func (c *client) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNotOffered
}

func (c *client) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNotOffered
}

func (c *client) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNotOffered
}

func (c *client) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNotOffered
}

// heard is what has come since the last forget.
type heard struct {
	updates []acp.SessionUpdate
	asked   []acp.RequestPermissionRequest
}

func (c *client) heard() heard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return heard{slices.Clone(c.updates), slices.Clone(c.asked)}
}

func (c *client) forget(answer acp.PermissionOptionKind, onText func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates, c.asked, c.answer, c.onText = nil, nil, answer, onText
}

// chunks are the pieces of the agent's text.
func (h heard) chunks() []string {
	var out []string
	for _, u := range h.updates {
		if u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil {
			out = append(out, u.AgentMessageChunk.Content.Text.Text)
		}
	}
	return out
}

func (h heard) text() string { return strings.Join(h.chunks(), "") }

// said are the prompts that were replayed.
func (h heard) said() []string {
	var out []string
	for _, u := range h.updates {
		if u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil {
			out = append(out, u.UserMessageChunk.Content.Text.Text)
		}
	}
	return out
}

// calls gives the last status of each call.
func (h heard) calls() map[acp.ToolCallId]acp.ToolCallStatus {
	out := map[acp.ToolCallId]acp.ToolCallStatus{}
	for _, u := range h.updates {
		if u.ToolCall != nil {
			out[u.ToolCall.ToolCallId] = u.ToolCall.Status
		}
		if u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil {
			out[u.ToolCallUpdate.ToolCallId] = *u.ToolCallUpdate.Status
		}
	}
	return out
}
