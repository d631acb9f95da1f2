package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/mattn/go-isatty"
)

// terminal is the ACP client of `cartagent run`: a person at a command line, or a program that reads JSON lines.
type terminal struct {
	console   console
	yes, json bool

	asking sync.Mutex // held while a question is open; it is not under mu, so that a cancel finds everything at work
	reader sync.Once
	typed  chan string // the lines from the input, until it ends

	mu        sync.Mutex // held for each write
	calls     map[acp.ToolCallID]*shownCall
	inText    bool  // the last thing written to stdout is text without a newline at its end
	unwritten error // why something could not be written to stdout

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

func (t *terminal) write(s string) {
	if _, err := io.WriteString(t.console.out, s); err != nil && t.unwritten == nil {
		t.unwritten = err
	}
}

func (t *terminal) line(v any) error {
	enc := json.NewEncoder(t.console.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// RequestPermission implements acp.Client: by --yes, by the person at the terminal, or not at all. --yes allows, and
// answers no question of another kind, such as whether something has been done.
func (t *terminal) RequestPermission(ctx context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	question, doubt := isQuestion(r.Options), isDoubt(r.Options)
	if t.yes && !question && !doubt {
		return selected(r, acp.PermissionAllowOnce), nil
	}
	t.asking.Lock()
	defer t.asking.Unlock()
	title := t.titleFor(r)
	for _, c := range r.ToolCall.Content {
		if item, ok := c.(acp.ContentItem); ok {
			if text, ok := item.Content.(acp.TextContent); ok { // what to know before one answers
				t.console.tell(text.Text)
			}
		}
	}
	switch {
	case isTerminal(t.console.in) && question:
		return t.put(ctx, title, r), nil
	case isTerminal(t.console.in) && doubt:
		return selected(r, t.ask(ctx, title+"\n[y] run it again  [n] leave it: ")), nil
	case isTerminal(t.console.in):
		kind := t.ask(ctx, "Allow: "+title+"\n[y] once  [a] always in this session  [n] no: ")
		if kind == acp.PermissionRejectOnce {
			t.denied.Store(true)
		}
		return selected(r, kind), nil
	case question: // the model is to ask in words, which is no refusal
		t.console.tell("not answered, since there is no terminal to ask on: " + title)
		return nil, &acp.Error{Code: acp.CodeInternalError, Message: "there is no terminal to ask on"}
	case doubt:
		t.console.tell("not run again, since there is no terminal to ask on whether it was done: " + title)
	default:
		t.console.tell("refused, since there is no terminal to ask on (--yes allows everything): " + title)
	}
	t.denied.Store(true)
	return selected(r, acp.PermissionRejectOnce), nil
}

// titleFor is what a request is about. Whatever text was on its way is ended.
func (t *terminal) titleFor(r *acp.RequestPermissionRequest) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endText()
	if r.ToolCall.Title != nil {
		return *r.ToolCall.Title
	}
	if call := t.calls[r.ToolCall.ToolCallID]; call != nil {
		return call.title
	}
	return ""
}

// isQuestion tells a question with answers to choose from. A permission's options are one of a kind, and go by its name.
func isQuestion(options []acp.PermissionOption) bool {
	return slices.ContainsFunc(options, func(o acp.PermissionOption) bool { return string(o.OptionID) != string(o.Kind) })
}

// isDoubt tells the question whether a call may run that may have run already.
func isDoubt(options []acp.PermissionOption) bool {
	return slices.ContainsFunc(options, func(o acp.PermissionOption) bool { return o.Name == loop.RunAgain })
}

// ask asks for permission until there is an answer. The end of the input is a no.
func (t *terminal) ask(ctx context.Context, text string) acp.PermissionOptionKind {
	for {
		answer, ok := t.prompt(ctx, text)
		switch {
		case !ok, answer == "n", answer == "no":
			return acp.PermissionRejectOnce
		case answer == "y", answer == "yes":
			return acp.PermissionAllowOnce
		case answer == "a", answer == "always":
			return acp.PermissionAllowAlways
		}
	}
}

// put puts a question with answers to choose from, by their numbers, until one is chosen. The end of the input chooses
// none.
func (t *terminal) put(ctx context.Context, title string, r *acp.RequestPermissionRequest) *acp.RequestPermissionResponse {
	var b strings.Builder
	b.WriteString(title + "\n")
	for i, o := range r.Options {
		fmt.Fprintf(&b, "  %d  %s\n", i+1, o.Name)
	}
	b.WriteString("Number: ")
	for {
		answer, ok := t.prompt(ctx, b.String())
		if !ok {
			return selected(r, acp.PermissionRejectOnce)
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(r.Options) {
			return &acp.RequestPermissionResponse{Outcome: acp.Selected{OptionID: r.Options[n-1].OptionID}}
		}
	}
}

// prompt shows a text and waits for a line, in lower case. There is none once ctx or the input has ended.
func (t *terminal) prompt(ctx context.Context, text string) (string, bool) {
	t.reader.Do(func() {
		t.typed = make(chan string)
		go t.read() // nothing ends a read from a terminal: it ends with the process
	})
	_, _ = io.WriteString(t.console.err, text)
	select {
	case line, ok := <-t.typed:
		return strings.ToLower(strings.TrimSpace(line)), ok
	case <-ctx.Done():
		_, _ = io.WriteString(t.console.err, "\n")
		return "", false
	}
}

func (t *terminal) read() {
	defer close(t.typed)
	in := bufio.NewReader(t.console.in)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			t.typed <- line
		}
		if err != nil {
			return
		}
	}
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
	if t.unwritten != nil {
		return &exitCode{code: exitError, err: t.unwritten}
	}
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
