package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// maxChoices is how many answers a question may have to be put as a permission request.
const maxChoices = 6

// asker puts the questions of tools to the client's person: as a form or a page to open where the client has those, as
// a choice of buttons where it has not. It implements loop.Asker. One asker serves a session for as long as it is open.
type asker struct {
	gate    *gate
	silence silence // of forms and pages; that of buttons is the gate's
	pages   openPages
	aside   atomic.Int64 // questions about no call so far
}

func newAsker(client *acp.ClientConn, session acp.SessionID) *asker {
	return &asker{gate: newGate(client, session)}
}

// AskForm waits for the answer, within Patience. Its error tells the model what to do without one.
func (a *asker) AskForm(ctx context.Context, c loop.Call, q loop.Question) (loop.Answer, error) {
	ask := question{call: c, Question: q, text: whoAsks(c.Tool) + q.Message}
	answer, err := a.put(ctx, ask)
	if err != nil {
		return loop.Answer{}, err
	}
	answer.ID, answer.State = q.ID, q.State
	return answer, nil
}

// question is a server's question with the text that the person sees. Its call has no id where it is about none.
type question struct {
	loop.Question
	call loop.Call
	text string
}

// inWords is the error of a question that cannot be put to the person by this client.
func (q question) inWords(why string) error {
	if q.call.ID == "" {
		return fmt.Errorf("%s (%s). Say it again with the answer, if the command takes it", q.text, why)
	}
	return fmt.Errorf("the tool asks: %s (%s). Ask the user in words, then call the tool again with the answer", q.Message, why)
}

// unanswered is the error of a question that was put and came back without an answer.
func (q question) unanswered(err error) error {
	if errors.Is(err, loop.ErrGone) || errors.Is(err, acp.ErrClosed) {
		return loop.ErrGone
	}
	return q.inWords(err.Error())
}

// ask puts a question that is about no call: one before a prompt, which is not in the log yet.
func (s *session) ask(ctx context.Context, server string, q loop.Question) (loop.Answer, error) {
	text := server + " asks: " + q.Message
	if q.URL == "" {
		return s.asker.put(ctx, question{Question: q, text: text})
	}
	show := s.pages()
	if show == nil {
		return loop.Answer{}, fmt.Errorf("%s You would have to open %s, and this client cannot show that. Open it, then say it again", text, q.URL)
	}
	switch err := show(ctx, text, q.URL); {
	case errors.Is(err, ErrDeclined):
		return loop.Answer{Action: loop.AnswerDecline}, nil
	case err != nil:
		return loop.Answer{}, err
	}
	return loop.Answer{Action: loop.AnswerAccept}, nil
}

// whoAsks begins the text of a question of a server's tool, so that the person knows whom the answer goes to.
func whoAsks(tool string) string {
	if server, _, ok := strings.Cut(tool, "__"); ok {
		return server + " asks: "
	}
	return ""
}

func (a *asker) put(ctx context.Context, q question) (loop.Answer, error) {
	offered := a.gate.client.Capabilities().Elicitation
	if q.URL != "" {
		if offered == nil || offered.URL == nil {
			return loop.Answer{}, fmt.Errorf("the tool asks: %s The user would have to open %s, and this client cannot show "+
				"that. Tell the user the address and what it is for, and go on when they say that it is done", q.Message, q.URL)
		}
		return a.openPage(ctx, q)
	}
	form, err := formFor(q.Schema)
	if errors.Is(err, errSecret) {
		return loop.Answer{}, err
	}
	if err != nil {
		return loop.Answer{}, q.inWords(err.Error())
	}
	if offered != nil && offered.Form != nil {
		answer, err := a.fillForm(ctx, q, form)
		if !errors.Is(err, acp.ErrMethodNotFound) {
			return answer, err
		}
	}
	return a.choose(ctx, q, form)
}

// elicit sends a question of either kind.
func (a *asker) elicit(ctx context.Context, q question, mode acp.ElicitationMode) (acp.ElicitationAction, error) {
	scope := acp.ElicitationSessionScope{SessionID: a.gate.session}
	if call := acp.ToolCallID(q.call.ID); call != "" {
		scope.ToolCallID = &call
	}
	request := &acp.CreateElicitationRequest{Message: q.text, Mode: mode, Scope: scope}
	answer, err := patiently(ctx, &a.silence, func(ctx context.Context) (*acp.CreateElicitationResponse, error) {
		return a.gate.client.CreateElicitation(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	a.gate.silence.broken()
	return answer.Action, nil
}

func (a *asker) openPage(ctx context.Context, q question) (loop.Answer, error) {
	page, err := url.Parse(q.URL)
	if err != nil || page.Host == "" || page.Scheme != "https" && page.Scheme != "http" {
		return loop.Answer{}, fmt.Errorf("the tool wants the user to open %q, which is no web address; do not pass it on", q.URL)
	}
	id := a.pageID(q.call.ID, q.ID)
	drop := a.pages.add(ctx, a.gate.client, id)
	action, err := a.elicit(ctx, q, acp.ElicitationURLMode{ElicitationID: id, URL: q.URL})
	if err != nil {
		drop()
		return loop.Answer{}, q.unanswered(err)
	}
	if _, ok := action.(acp.ElicitationAcceptAction); ok {
		return loop.Answer{Action: loop.AnswerAccept}, nil
	}
	drop()
	return refusalOf(action), nil
}

func (a *asker) pageID(call, question string) acp.ElicitationID {
	return acp.ElicitationID(string(a.gate.session) + "/" + call + "/" + question)
}

// pageDone tells the client, if it was shown the page of that question, that it has served its purpose. It does not wait
// for the client.
func (a *asker) pageDone(call, question string) { a.pages.complete(a.pageID(call, question)) }

func (a *asker) fillForm(ctx context.Context, q question, form acp.ElicitationSchema) (loop.Answer, error) {
	action, err := a.elicit(ctx, q, acp.ElicitationFormMode{RequestedSchema: form})
	switch {
	case errors.Is(err, acp.ErrMethodNotFound):
		return loop.Answer{}, err
	case err != nil:
		return loop.Answer{}, q.unanswered(err)
	}
	filled, ok := action.(acp.ElicitationAcceptAction)
	if !ok {
		return refusalOf(action), nil
	}
	values, err := fit(form, filled.Content)
	if err != nil {
		return loop.Answer{}, q.inWords("what came back does not fit the form: " + err.Error())
	}
	content, err := json.Marshal(values)
	if err != nil {
		return loop.Answer{}, fmt.Errorf("encoding the answer: %w", err)
	}
	return loop.Answer{Action: loop.AnswerAccept, Content: content}, nil
}

func refusalOf(action acp.ElicitationAction) loop.Answer {
	if _, ok := action.(acp.ElicitationDeclineAction); ok {
		return loop.Answer{Action: loop.AnswerDecline}
	}
	return loop.Answer{Action: loop.AnswerCancel}
}

// choose puts a question with few fixed answers as a permission request with those answers as its options.
func (a *asker) choose(ctx context.Context, q question, form acp.ElicitationSchema) (loop.Answer, error) {
	name, choices := choicesOf(form)
	if len(choices) == 0 || len(choices) > maxChoices {
		return loop.Answer{}, q.inWords("this client shows no forms")
	}
	options := make([]acp.PermissionOption, 0, len(choices)+1)
	for i, c := range choices {
		options = append(options, acp.PermissionOption{OptionID: choiceID(i), Name: c.title, Kind: acp.PermissionAllowOnce})
	}
	options = append(options, acp.PermissionOption{OptionID: "none", Name: "None of these", Kind: acp.PermissionRejectOnce})
	title, _, _ := strings.Cut(q.text, "\n")
	call := q.call.ID
	if call == "" { // the request must name one
		call = fmt.Sprintf("question_%d", a.aside.Add(1))
	}
	outcome, err := a.gate.request(ctx, &acp.RequestPermissionRequest{
		SessionID: a.gate.session, Options: options,
		ToolCall: acp.ToolCallUpdate{
			ToolCallID: acp.ToolCallID(call), Title: &title,
			Content: acp.ToolCallContents{acp.ContentItem{Content: acp.TextContent{Text: q.text}}},
		},
	})
	if err != nil {
		return loop.Answer{}, q.unanswered(err)
	}
	chosen, ok := outcome.(acp.Selected)
	if !ok {
		return loop.Answer{Action: loop.AnswerCancel}, nil
	}
	for i, c := range choices {
		if chosen.OptionID != choiceID(i) {
			continue
		}
		content, err := json.Marshal(map[string]acp.ElicitationContentValue{name: c.value})
		if err != nil {
			return loop.Answer{}, fmt.Errorf("encoding the answer: %w", err)
		}
		return loop.Answer{Action: loop.AnswerAccept, Content: content}, nil
	}
	return loop.Answer{Action: loop.AnswerDecline}, nil
}

func choiceID(i int) acp.PermissionOptionID {
	return acp.PermissionOptionID("answer_" + strconv.Itoa(i+1))
}

// choice is a fixed answer and what is shown for it.
type choice struct {
	title string
	value acp.ElicitationContentValue
}

// choicesOf are the fixed answers of a form with one field, and the field's name.
func choicesOf(form acp.ElicitationSchema) (string, []choice) {
	if len(form.Properties) != 1 {
		return "", nil
	}
	for name, field := range form.Properties {
		switch f := field.(type) {
		case acp.BooleanPropertySchema:
			return name, []choice{{"Yes", acp.BooleanContent(true)}, {"No", acp.BooleanContent(false)}}
		case acp.StringPropertySchema:
			var out []choice
			for _, v := range f.Enum {
				out = append(out, choice{v, acp.StringContent(v)})
			}
			for _, o := range f.OneOf {
				out = append(out, choice{firstNonEmpty(o.Title, o.Const), acp.StringContent(o.Const)})
			}
			return name, slices.DeleteFunc(out, func(c choice) bool { return c.title == "" })
		default:
		}
	}
	return "", nil
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
