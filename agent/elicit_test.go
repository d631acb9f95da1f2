package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kept is a list that a client's goroutines add to.
type kept[T any] struct {
	mu   sync.Mutex
	list []T
}

func (k *kept[T]) add(v T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, v)
}

func (k *kept[T]) all() []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

// person is a client that can be asked for permission. What it was asked is kept.
type person struct {
	permit func(context.Context) (*acp.RequestPermissionResponse, error)
	asked  kept[*acp.RequestPermissionRequest]
}

func (*person) SessionUpdate(context.Context, *acp.SessionNotification) error { return nil }

func (p *person) RequestPermission(ctx context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	p.asked.add(r)
	return p.permit(ctx)
}

// reader is a person whose client shows forms and pages too.
type reader struct {
	person
	fill  func(context.Context) (*acp.CreateElicitationResponse, error)
	forms kept[*acp.CreateElicitationRequest]
}

func (r *reader) CreateElicitation(ctx context.Context, q *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	r.forms.add(q)
	return r.fill(ctx)
}

func picks(id acp.PermissionOptionID) func(context.Context) (*acp.RequestPermissionResponse, error) {
	return func(context.Context) (*acp.RequestPermissionResponse, error) {
		return &acp.RequestPermissionResponse{Outcome: acp.Selected{OptionID: id}}, nil
	}
}

func does(action acp.ElicitationAction) func(context.Context) (*acp.CreateElicitationResponse, error) {
	return func(context.Context) (*acp.CreateElicitationResponse, error) {
		return &acp.CreateElicitationResponse{Action: action}, nil
	}
}

type content = map[string]acp.ElicitationContentValue

func accepts(values content) func(context.Context) (*acp.CreateElicitationResponse, error) {
	return does(acp.ElicitationAcceptAction{Content: values})
}

func formsAndPages() acp.ClientCapabilities {
	return acp.ClientCapabilities{Elicitation: &acp.ElicitationCapabilities{
		Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{},
	}}
}

var buy = loop.Call{ID: "call_1_1", Tool: "shop__buy", Args: json.RawMessage(`{}`)}

func sized(schema string) loop.Question {
	return loop.Question{ID: "q1", Message: "Which size?", Schema: raw(schema), State: raw(`{"n":1}`)}
}

const order = `{"type":"object","required":["size","pay"],"properties":{
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"mail":{"type":"string","format":"email","minLength":3,"maxLength":20},
	"count":{"type":"integer","minimum":1,"maximum":9,"default":1},
	"tip":{"type":"number","minimum":0,"maximum":0.5},
	"pay":{"type":"boolean","default":true},
	"extras":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["milk","sugar","ice"]}}}}`

func TestForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fill func(context.Context) (*acp.CreateElicitationResponse, error)
		want loop.AnswerAction
		json string
		err  string
	}{
		"accept": {
			fill: accepts(content{
				"size": acp.StringContent("l"), "mail": acp.StringContent("a@b.c"), "count": acp.NumberContent(2), "tip": acp.NumberContent(0.25),
				"pay": acp.BooleanContent(false), "extras": acp.StringArrayContent{"ice"}, "more": acp.StringContent("x"),
			}),
			want: loop.AnswerAccept, json: `{"size":"l","mail":"a@b.c","count":2,"tip":0.25,"pay":false,"extras":["ice"]}`,
		},
		"defaults": {fill: accepts(content{"size": acp.StringContent("s")}), want: loop.AnswerAccept, json: `{"size":"s","count":1,"pay":true}`},
		"decline":  {fill: does(acp.ElicitationDeclineAction{}), want: loop.AnswerDecline},
		"cancel":   {fill: does(acp.ElicitationCancelAction{}), want: loop.AnswerCancel},
		"unknown":  {fill: does(acp.RawElicitationAction{Action: "sing", Raw: raw(`{"action":"sing"}`)}), want: loop.AnswerCancel},
		"missing":  {fill: accepts(content{}), err: `"size" is missing`},
		"enum":     {fill: accepts(content{"size": acp.StringContent("m")}), err: `"size" must be one of s, l`},
		"no text":  {fill: accepts(content{"size": acp.IntegerContent(1)}), err: `"size" must be text`},
		"short":    {fill: accepts(content{"size": acp.StringContent("s"), "mail": acp.StringContent("éé")}), err: `"mail" is too short: it has 2 characters`},
		"long":     {fill: accepts(content{"size": acp.StringContent("s"), "mail": acp.StringContent("a@b.cccccccccccccccccc")}), err: `"mail" is too long`},
		"fraction": {fill: accepts(content{"size": acp.StringContent("s"), "count": acp.NumberContent(1.5)}), err: `"count" must be a whole number`},
		"small":    {fill: accepts(content{"size": acp.StringContent("s"), "count": acp.IntegerContent(0)}), err: `"count" must be at least 1`},
		"large":    {fill: accepts(content{"size": acp.StringContent("s"), "tip": acp.IntegerContent(1)}), err: `"tip" must be at most 0.5`},
		"no bool":  {fill: accepts(content{"size": acp.StringContent("s"), "pay": acp.StringContent("true")}), err: `"pay" must be true or false`},
		"choices":  {fill: accepts(content{"size": acp.StringContent("s"), "extras": acp.StringArrayContent{"salt"}}), err: `"extras" has "salt", which is none of milk, sugar, ice`},
		"none":     {fill: accepts(content{"size": acp.StringContent("s"), "extras": acp.StringArrayContent{}}), err: `"extras" has 0 choices of at least 1`},
		"refused": {
			fill: func(context.Context) (*acp.CreateElicitationResponse, error) {
				return nil, acp.InvalidParams("no forms today")
			},
			err: "no forms today",
		},
		"not known": {
			fill: func(context.Context) (*acp.CreateElicitationResponse, error) { return nil, acp.ErrMethodNotFound },
			err:  "this client shows no forms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reader{fill: c.fill}
			conn, _ := dial(t, r, formsAndPages())
			got, err := newAsker(conn, "sess_1").AskForm(t.Context(), buy, sized(order))
			require.Len(t, r.forms.all(), 1)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, err, "Which size?")
				assert.ErrorContains(t, err, "Ask the user in words")
				return
			}
			require.NoError(t, err)
			if c.json == "" {
				assert.Empty(t, got.Content)
			} else {
				assert.JSONEq(t, c.json, string(got.Content))
			}
			got.Content = nil
			assert.Equal(t, loop.Answer{ID: "q1", Action: c.want, State: raw(`{"n":1}`)}, got)

			call := acp.ToolCallID("call_1_1")
			assert.Equal(t, "shop asks: Which size?", r.forms.all()[0].Message)
			assert.Equal(t, acp.ElicitationSessionScope{SessionID: "sess_1", ToolCallID: &call}, r.forms.all()[0].Scope)
			sent, err := json.Marshal(r.forms.all()[0].Mode.(acp.ElicitationFormMode).RequestedSchema)
			require.NoError(t, err)
			assert.JSONEq(t, order, string(sent), "a flat schema is passed on as it is")
		})
	}
}

func TestFormsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	r := &reader{}
	conn, _ := dial(t, r, formsAndPages())
	a := newAsker(conn, "sess_1")
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                          `the field "a" is of type "object"`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}}`: `"a"`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`:         `the field "b" is required and not described`,
		`[]`: "its form cannot be shown",
	} {
		_, err := a.AskForm(t.Context(), buy, sized(schema))
		require.ErrorContains(t, err, want, schema)
		require.ErrorContains(t, err, "Ask the user in words", schema)
	}
	assert.Empty(t, r.forms.all())
}

// Forms are no place for secrets, and neither is the conversation.
func TestSecretsAreNotAskedFor(t *testing.T) {
	t.Parallel()
	r := &reader{}
	conn, _ := dial(t, r, formsAndPages())
	a := newAsker(conn, "sess_1")
	for field, refused := range map[string]bool{
		"password": true, "db_password": true, "API-Key": true, "clientSecret": true, "client secret": true, "max_tokens": false, "keyboard": false,
	} {
		_, err := formFor(raw(`{"type":"object","properties":{"` + field + `":{"type":"string"}}}`))
		assert.Equal(t, refused, errors.Is(err, errSecret), field)
	}
	_, err := a.AskForm(t.Context(), buy, sized(`{"type":"object","properties":{"password":{"type":"string"}}}`))
	require.ErrorContains(t, err, "Do not ask for it in words")
	assert.NotContains(t, err.Error(), "Ask the user in words")
	assert.Empty(t, r.forms.all())
}

func TestOlderNamesOfChoices(t *testing.T) {
	t.Parallel()
	form, err := formFor(raw(`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"enumNames":["X!","Y!"]}}}`))
	require.NoError(t, err)
	assert.Equal(t, map[string]acp.ElicitationPropertySchema{"a": acp.StringPropertySchema{
		OneOf: []acp.EnumOption{{Const: "x", Title: "X!"}, {Const: "y", Title: "Y!"}},
	}}, form.Properties)
	empty, err := formFor(nil)
	require.NoError(t, err)
	assert.Equal(t, acp.ElicitationSchema{Type: acp.SchemaObject}, empty)
}

const sizes = `{"type":"object","properties":{"size":{"type":"string","enum":["small","large"]}},"required":["size"]}`

// Where the client has no forms, few answers become the options of a permission request.
func TestChoices(t *testing.T) {
	t.Parallel()
	many := `{"type":"object","properties":{"n":{"type":"string","enum":["1","2","3","4","5","6","7"]}}}`
	for name, c := range map[string]struct {
		schema string
		permit func(context.Context) (*acp.RequestPermissionResponse, error)
		want   loop.Answer
		err    string
	}{
		"first": {schema: sizes, permit: picks("answer_1"), want: loop.Answer{Action: loop.AnswerAccept, Content: raw(`{"size":"small"}`)}},
		"last":  {schema: sizes, permit: picks("answer_2"), want: loop.Answer{Action: loop.AnswerAccept, Content: raw(`{"size":"large"}`)}},
		"titled": {
			schema: `{"type":"object","properties":{"size":{"type":"string","oneOf":[{"const":"s","title":"small"},{"const":"l","title":"large"}]}}}`,
			permit: picks("answer_2"), want: loop.Answer{Action: loop.AnswerAccept, Content: raw(`{"size":"l"}`)},
		},
		"none":            {schema: sizes, permit: picks("none"), want: loop.Answer{Action: loop.AnswerDecline}},
		"one not offered": {schema: sizes, permit: picks("answer_9"), want: loop.Answer{Action: loop.AnswerDecline}},
		"cancelled": {schema: sizes, permit: func(context.Context) (*acp.RequestPermissionResponse, error) {
			return &acp.RequestPermissionResponse{Outcome: acp.Cancelled{}}, nil
		}, want: loop.Answer{Action: loop.AnswerCancel}},
		"yes": {
			schema: `{"type":"object","properties":{"ok":{"type":"boolean"}}}`, permit: picks("answer_1"),
			want: loop.Answer{Action: loop.AnswerAccept, Content: raw(`{"ok":true}`)},
		},
		"cannot ask": {schema: sizes, permit: func(context.Context) (*acp.RequestPermissionResponse, error) {
			return nil, acp.ErrMethodNotFound
		}, err: "the client cannot ask for permission"},
		"too many":   {schema: many, err: "this client shows no forms"},
		"free text":  {schema: `{"type":"object","properties":{"a":{"type":"string"}}}`, err: "this client shows no forms"},
		"two fields": {schema: order, err: "this client shows no forms"},
		"no fields":  {schema: `{}`, err: "this client shows no forms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &person{permit: c.permit}
			conn, _ := dial(t, p, acp.ClientCapabilities{Elicitation: &acp.ElicitationCapabilities{}})
			got, err := newAsker(conn, "sess_1").AskForm(t.Context(), buy, sized(c.schema))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, err, "Ask the user in words")
				assert.Equal(t, c.permit != nil, len(p.asked.all()) > 0)
				return
			}
			require.NoError(t, err)
			c.want.ID, c.want.State = "q1", raw(`{"n":1}`)
			assert.Equal(t, c.want, got)
			require.Len(t, p.asked.all(), 1)
			if name == "first" {
				assert.Equal(t, &acp.RequestPermissionRequest{
					SessionID: "sess_1", ToolCall: acp.ToolCallUpdate{
						ToolCallID: "call_1_1", Title: new("shop asks: Which size?"), Content: contents("shop asks: Which size?"),
					},
					Options: []acp.PermissionOption{
						{OptionID: "answer_1", Name: "small", Kind: acp.PermissionAllowOnce},
						{OptionID: "answer_2", Name: "large", Kind: acp.PermissionAllowOnce},
						{OptionID: "none", Name: "None of these", Kind: acp.PermissionRejectOnce},
					},
				}, p.asked.all()[0])
			}
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	q := loop.Question{ID: "p1", Message: "Pay for it.", URL: "https://pay.example/7"}
	for name, c := range map[string]struct {
		action acp.ElicitationAction
		want   loop.AnswerAction
	}{
		"opened":   {acp.ElicitationAcceptAction{}, loop.AnswerAccept},
		"declined": {acp.ElicitationDeclineAction{}, loop.AnswerDecline},
		"closed":   {acp.ElicitationCancelAction{}, loop.AnswerCancel},
	} {
		r := &reader{fill: does(c.action)}
		conn, _ := dial(t, r, formsAndPages())
		got, err := newAsker(conn, "sess_1").AskForm(t.Context(), buy, q)
		require.NoError(t, err, name)
		assert.Equal(t, loop.Answer{ID: "p1", Action: c.want}, got, name)
		call := acp.ToolCallID("call_1_1")
		assert.Equal(t, []*acp.CreateElicitationRequest{{
			Message: "shop asks: Pay for it.",
			Mode:    acp.ElicitationURLMode{ElicitationID: "sess_1/call_1_1/p1", URL: "https://pay.example/7"},
			Scope:   acp.ElicitationSessionScope{SessionID: "sess_1", ToolCallID: &call},
		}}, r.forms.all(), name)
	}

	r := &reader{}
	conn, _ := dial(t, r, formsAndPages())
	for _, address := range []string{"javascript:alert(1)", "file:///etc/passwd", "https://", "::"} {
		q.URL = address
		_, err := newAsker(conn, "sess_1").AskForm(t.Context(), buy, q)
		require.ErrorContains(t, err, "no web address", address)
	}
	assert.Empty(t, r.forms.all())

	q.URL = "https://pay.example/7"
	caps := formsAndPages()
	caps.Elicitation.URL = nil
	conn, _ = dial(t, r, caps)
	_, err := newAsker(conn, "sess_1").AskForm(t.Context(), buy, q)
	require.ErrorContains(t, err, "Tell the user the address")
	assert.ErrorContains(t, err, "https://pay.example/7")
}

// observer is a reader that hears which pages are done.
type observer struct {
	reader
	done kept[acp.ElicitationID]
	told chan struct{}
}

func (o *observer) CompleteElicitation(_ context.Context, n *acp.CompleteElicitationNotification) error {
	o.done.add(n.ElicitationID)
	o.told <- struct{}{}
	return nil
}

// A client is told once that a page which it has shown is done, before the person has answered too, and of no other.
func TestPagesAreDone(t *testing.T) {
	t.Parallel()
	q := loop.Question{ID: "p1", Message: "Pay for it.", URL: "https://pay.example/7"}
	o := &observer{told: make(chan struct{}, 9)}
	conn, _ := dial(t, o, formsAndPages())
	a := newAsker(conn, "sess_1")
	o.fill = does(acp.ElicitationDeclineAction{})
	_, err := a.AskForm(t.Context(), buy, q)
	require.NoError(t, err)
	a.pageDone(buy.ID, "p1") // it was not opened
	a.pageDone(buy.ID, "p0")

	o.fill = does(acp.ElicitationAcceptAction{})
	_, err = a.AskForm(t.Context(), buy, q)
	require.NoError(t, err)
	a.pageDone(buy.ID, "p1")
	a.pageDone(buy.ID, "p1")
	<-o.told
	assert.Equal(t, []acp.ElicitationID{"sess_1/call_1_1/p1"}, o.done.all())

	q.ID = "p2"
	o.fill = func(context.Context) (*acp.CreateElicitationResponse, error) {
		a.pageDone(buy.ID, "p2")
		<-o.told
		return &acp.CreateElicitationResponse{Action: acp.ElicitationAcceptAction{}}, nil
	}
	_, err = a.AskForm(t.Context(), buy, q)
	require.NoError(t, err)
	assert.Equal(t, []acp.ElicitationID{"sess_1/call_1_1/p1", "sess_1/call_1_1/p2"}, o.done.all())
	assert.Empty(t, a.pages.done)
}

var offered = []loop.Option{{Kind: loop.AllowOnce, Name: "Yes"}, {Kind: loop.RejectOnce, Name: "No"}}

// C018: a client that says that it cannot ask is not asked again, and nothing is allowed.
func TestC018AClientThatCannotAsk(t *testing.T) {
	t.Parallel()
	p := &person{permit: func(context.Context) (*acp.RequestPermissionResponse, error) { return nil, acp.ErrMethodNotFound }}
	conn, _ := dial(t, p, acp.ClientCapabilities{})
	g := newGate(conn, "sess_1")
	for range 3 {
		outcome, err := g.Ask(t.Context(), buy, loop.Preview{}, offered)
		require.EqualError(t, err, "the client cannot ask for permission")
		assert.Empty(t, outcome)
	}
	assert.Len(t, p.asked.all(), 1)
}

// C018: a client that never answers is waited for once, for so long and no longer. Then nothing is allowed, and nobody
// waits again, until the late answer shows that somebody is there. That answer allows nothing by itself.
func TestC018AClientThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		p := &person{permit: func(ctx context.Context) (*acp.RequestPermissionResponse, error) {
			select {
			case <-late:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return picks("allow_once")(ctx)
		}}
		conn, hangUp := dial(t, p, acp.ClientCapabilities{})
		g := newGate(conn, "sess_1")
		for i, took := range []time.Duration{Patience, 0, 0} {
			began := time.Now()
			outcome, err := g.Ask(t.Context(), buy, loop.Preview{}, offered)
			require.EqualError(t, err, "the user did not answer within 30 minutes", "%d", i)
			assert.Empty(t, outcome)
			assert.Equal(t, took, time.Since(began), "%d", i)
		}
		require.Len(t, p.asked.all(), 1)
		close(late)
		synctest.Wait()
		outcome, err := g.Ask(t.Context(), buy, loop.Preview{}, offered)
		require.NoError(t, err)
		assert.Equal(t, loop.AllowOnce, outcome)
		assert.Len(t, p.asked.all(), 2)
		hangUp()
	})
}

func TestC018TheWaitCanBeCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int32
		p := &person{permit: func(ctx context.Context) (*acp.RequestPermissionResponse, error) {
			<-ctx.Done()
			taken.Add(1)
			return nil, ctx.Err()
		}}
		conn, hangUp := dial(t, p, acp.ClientCapabilities{})
		g := newGate(conn, "sess_1")
		stop := errors.New("cancelled by the person")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(stop) })
		began := time.Now()
		_, err := g.Ask(ctx, buy, loop.Preview{}, offered)
		require.ErrorIs(t, err, stop)
		assert.Equal(t, time.Minute, time.Since(began))
		synctest.Wait()
		assert.EqualValues(t, 1, taken.Load(), "the question is taken back")
		require.NoError(t, g.silence.reason(), "a cancel says nothing about the client")

		_, err = g.Ask(t.Context(), buy, loop.Preview{}, offered)
		require.ErrorIs(t, err, errNoAnswer)
		assert.EqualValues(t, 1, taken.Load(), "the question stays, so that its late answer ends the silence")
		g.close()
		synctest.Wait()
		assert.EqualValues(t, 2, taken.Load(), "but no longer than the session")
		require.ErrorIs(t, g.silence.reason(), errNoAnswer)
		hangUp()
	})
}

// A form that nobody answers is given up in the same way.
func TestFormsAreWaitedForPatiently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{fill: hung[acp.CreateElicitationResponse]}
		conn, hangUp := dial(t, r, formsAndPages())
		a := newAsker(conn, "sess_1")
		for _, took := range []time.Duration{Patience, 0} {
			began := time.Now()
			_, err := a.AskForm(t.Context(), buy, sized(sizes))
			require.ErrorContains(t, err, "the user did not answer within 30 minutes")
			assert.Equal(t, took, time.Since(began))
		}
		assert.Len(t, r.forms.all(), 1)
		hangUp()
	})
}

func TestAnyAnswerBreaksTheSilence(t *testing.T) {
	t.Parallel()
	r := &reader{fill: does(acp.ElicitationDeclineAction{})}
	conn, _ := dial(t, r, formsAndPages())
	a := newAsker(conn, "sess_1")
	a.gate.silence.why = errNoAnswer
	_, err := a.AskForm(t.Context(), buy, sized(sizes))
	require.NoError(t, err)
	require.NoError(t, a.gate.silence.reason())
	a.gate.silence.why = acp.ErrMethodNotFound
	_, err = a.AskForm(t.Context(), buy, sized(sizes))
	require.NoError(t, err)
	require.ErrorIs(t, a.gate.silence.reason(), acp.ErrMethodNotFound, "what a client does not know it does not learn")
}
