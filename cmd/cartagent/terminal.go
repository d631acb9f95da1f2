package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cartagent/cartagent/acp"
	"github.com/mattn/go-isatty"
)

// terminal is the ACP client of `cartagent run`: a person at a command line, or a program that reads JSON lines.
type terminal struct {
	console   console
	yes, json bool

	mu     sync.Mutex // held for each write and while a question is open
	calls  map[acp.ToolCallID]*shownCall
	inText bool // the last thing written to stdout is text without a newline at its end
	input  *bufio.Reader

	denied atomic.Bool
}

type shownCall struct{ title string }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// SessionUpdate implements acp.Client.
func (t *terminal) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.json {
		return t.line(n)
	}
	switch v := n.Update.(type) {
	case acp.AgentMessageChunk:
		if text, ok := v.Content.(acp.TextContent); ok {
			t.say(text.Text)
		}
	case acp.ToolCall:
		t.calls[v.ToolCallID] = &shownCall{title: v.Title}
	case acp.ToolCallUpdate:
		t.progress(v)
	default: // the rest is for editors
	}
	return nil
}

func (t *terminal) progress(u acp.ToolCallUpdate) {
	call := t.calls[u.ToolCallID]
	if call == nil {
		return
	}
	if u.Title != nil {
		call.title = *u.Title
	}
	if u.Status == nil {
		return
	}
	switch *u.Status {
	case acp.StatusCompleted:
		t.note("✓ " + call.title)
	case acp.StatusFailed:
		t.note("✗ " + call.title + firstLine(u.Content))
	case acp.StatusPending, acp.StatusInProgress:
	}
}

// firstLine is what a failed call says, as far as one line shows it.
func firstLine(content acp.ToolCallContents) string {
	for _, c := range content {
		item, ok := c.(acp.ContentItem)
		if !ok {
			continue
		}
		if text, ok := item.Content.(acp.TextContent); ok && strings.TrimSpace(text.Text) != "" {
			line, _, _ := strings.Cut(strings.TrimSpace(text.Text), "\n")
			return ": " + line
		}
	}
	return ""
}

func (t *terminal) say(text string) {
	if text == "" {
		return
	}
	t.write(text)
	t.inText = !strings.HasSuffix(text, "\n")
}

func (t *terminal) note(line string) {
	t.endText()
	line, _, _ = strings.Cut(line, "\n")
	t.write("  " + line + "\n")
}

func (t *terminal) endText() {
	if t.inText {
		t.write("\n")
		t.inText = false
	}
}

func (t *terminal) write(s string) { _, _ = io.WriteString(t.console.out, s) }

func (t *terminal) line(v any) error {
	enc := json.NewEncoder(t.console.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// RequestPermission implements acp.Client: by --yes, by the person at the terminal, or not at all.
func (t *terminal) RequestPermission(ctx context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	if t.yes {
		return selected(r, acp.PermissionAllowOnce), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	title := ""
	if call := t.calls[r.ToolCall.ToolCallID]; call != nil {
		title = call.title
	}
	if r.ToolCall.Title != nil {
		title = *r.ToolCall.Title
	}
	if !isTerminal(t.console.in) {
		t.denied.Store(true)
		t.console.tell("refused, since there is no terminal to ask on (--yes allows everything): " + title)
		return selected(r, acp.PermissionRejectOnce), nil
	}
	t.endText()
	kind := t.ask(ctx, title)
	if kind == acp.PermissionRejectOnce {
		t.denied.Store(true)
	}
	return selected(r, kind), nil
}

// ask puts the question until there is an answer to it. The end of the input is a no.
func (t *terminal) ask(ctx context.Context, title string) acp.PermissionOptionKind {
	if t.input == nil {
		t.input = bufio.NewReader(t.console.in)
	}
	for ctx.Err() == nil {
		_, _ = fmt.Fprintf(t.console.err, "Allow: %s\n[y] once  [a] always in this session  [n] no: ", title)
		answer, err := t.input.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return acp.PermissionAllowOnce
		case "a", "always":
			return acp.PermissionAllowAlways
		case "n", "no":
			return acp.PermissionRejectOnce
		}
		if err != nil {
			break
		}
	}
	return acp.PermissionRejectOnce
}

// selected chooses the option of that kind; an always that is not offered becomes a once.
func selected(r *acp.RequestPermissionRequest, kind acp.PermissionOptionKind) *acp.RequestPermissionResponse {
	kinds := []acp.PermissionOptionKind{kind}
	if kind == acp.PermissionAllowAlways {
		kinds = append(kinds, acp.PermissionAllowOnce)
	}
	for _, k := range kinds {
		for _, o := range r.Options {
			if o.Kind == k {
				return &acp.RequestPermissionResponse{Outcome: acp.Selected{OptionID: o.OptionID}}
			}
		}
	}
	return &acp.RequestPermissionResponse{Outcome: acp.Cancelled{}}
}

// ended tells the result of the turn, by the exit code too.
func (t *terminal) ended(id acp.SessionID, reason acp.StopReason) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.json {
		if err := t.line(map[string]any{"sessionId": id, "result": acp.PromptResponse{StopReason: reason}}); err != nil {
			return &exitCode{code: exitError, err: err}
		}
	}
	t.endText()
	switch reason {
	case acp.StopCancelled:
		return &exitCode{code: exitCancelled}
	case acp.StopRefusal:
		return &exitCode{code: exitRefusal, err: errors.New("the model refused to answer")}
	case acp.StopMaxTokens:
		return &exitCode{code: exitLimit, err: errors.New("the answer was cut by the model's token limit")}
	case acp.StopMaxTurnRequests:
		return &exitCode{code: exitLimit, err: errors.New("the turn was stopped: too many model requests, or the same call again and again")}
	case acp.StopEndTurn:
	}
	if t.denied.Load() {
		return &exitCode{code: exitDenied}
	}
	return nil
}

// failed tells that there was no result.
func (t *terminal) failed(id acp.SessionID, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endText()
	exit := &exitCode{code: exitError, err: err}
	var wire *acp.Error
	if errors.As(err, &wire) {
		exit.err = errors.New(wire.Message)
		switch wire.Code {
		case acp.CodeAuthRequired, acp.CodeInvalidParams, acp.CodeNotFound: // what was asked for cannot be had
			exit.code = exitUsage
		}
	}
	if t.json {
		body := map[string]any{"code": acp.CodeInternalError, "message": err.Error()}
		if wire != nil {
			body = map[string]any{"code": wire.Code, "message": wire.Message}
			if wire.Data != nil {
				body["data"] = wire.Data
			}
		}
		out := map[string]any{"error": body}
		if id != "" {
			out["sessionId"] = id
		}
		if lineErr := t.line(out); lineErr != nil {
			exit.err = errors.Join(exit.err, lineErr)
		}
	}
	return exit
}
