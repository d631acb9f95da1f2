package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cartagent/cartagent/loop"
)

// asked is what a question of a modern server, or a legacy one's page that a call must wait for, keeps in its State: all that
// the server wants to know at once, and what goes back along with the answers. Nothing else is kept of the call, so it can go
// on in another process.
type asked struct {
	Round     int             `json:"round"`
	Questions []wanted        `json:"questions"`
	State     json.RawMessage `json:"state,omitempty"`
	Opened    []string        `json:"opened,omitempty"` // the keys of pages of earlier rounds, where a legacy server wants pages
}

// wanted is a Question as logs have it.
type wanted struct {
	Key     string          `json:"key"`
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	URL     string          `json:"url,omitempty"`
}

// id names a question among all of its call.
func (a asked) id(key string) string { return strconv.Itoa(a.Round) + "/" + key }

// next asks, by a *loop.NeedsAnswer, the question that has no answer among those; nil where all have one.
func (a asked) next(answers []loop.Answer) error {
	given := map[string]bool{}
	for _, v := range answers {
		given[v.ID] = true
	}
	for _, q := range a.Questions {
		if given[a.id(q.Key)] {
			continue
		}
		state, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("encoding a question: %w", err)
		}
		return &loop.NeedsAnswer{Question: loop.Question{
			ID: a.id(q.Key), Message: q.Message, Schema: q.Schema, URL: q.URL, State: state,
		}}
	}
	return nil
}

// responses are the answers as the server gets them.
func (a asked) responses(server string, answers []loop.Answer) (map[string]Answer, error) {
	out := map[string]Answer{}
	for _, q := range a.Questions {
		for _, v := range answers {
			if v.ID != a.id(q.Key) {
				continue
			}
			question := Question{Server: server, Key: q.Key, Mode: q.Mode, Message: q.Message, Schema: q.Schema, URL: q.URL}
			filled, err := question.Fill(Answer{Action: string(v.Action), Content: v.Content})
			if err != nil {
				return nil, err
			}
			out[q.Key] = filled
		}
	}
	return out, nil
}

// showing gives the sender of a request whose progress is shown by show, nil for nobody.
type showing func(show func(line string)) sender

// task is what a call of the loop's comes down to at the server: one request, sent as often as it takes. safe says that it
// may be sent again when its answer was lost.
type task struct {
	safe bool
	send showing
}

// play makes the request of a job, or goes on with it by the answers that the job has. What the server wants to know comes
// back as a *loop.NeedsAnswer.
func (c *Client) play(ctx context.Context, j loop.Job, k task, shows *reporter) (json.RawMessage, error) {
	if !c.asks {
		return c.rounds(ctx, k.safe, k.send(shows.show))
	}
	if !c.conn.modern.Load() {
		return c.talk(ctx, j, k, shows)
	}
	before, err := c.answered(j)
	if err != nil {
		return nil, err
	}
	responses, err := before.responses(c.server.Name, j.Answers)
	if err != nil {
		return nil, err
	}
	r := retry{responses: responses, state: before.State}
	pause := roundPause
	for round := before.Round + 1; round <= maxRounds; round++ {
		raw, in, err := c.round(ctx, r, k.safe, k.send(shows.show))
		if err != nil || in == nil {
			return raw, err
		}
		if len(in.Questions) > 0 {
			return nil, c.needs(*in, asked{Round: round})
		}
		r = retry{state: in.State}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, longestStop)
	}
	return nil, fmt.Errorf("server %s: %w: it has asked %d times and is not done", c.server.Name, ErrInput, maxRounds)
}

// signed has a question that err may be name its server, so that the person sees whose it is.
func (c *Client) signed(err error) error {
	needs, ok := errors.AsType[*loop.NeedsAnswer](err)
	if !ok {
		return err
	}
	q := needs.Question
	q.Message = c.server.Name + " asks: " + q.Message
	return &loop.NeedsAnswer{Question: q}
}

// answered is what was asked last, once all of it is answered; until then the error asks for the rest.
func (c *Client) answered(j loop.Job) (asked, error) {
	var before asked
	n := len(j.Answers)
	if n == 0 {
		return before, nil
	}
	if err := json.Unmarshal(j.Answers[n-1].State, &before); err != nil {
		return before, fmt.Errorf("server %s: what it has asked cannot be read any more; call again: %w", c.server.Name, err)
	}
	return before, before.next(j.Answers)
}

// needs is the first of the questions, as an error. a is what is known of them beside.
func (c *Client) needs(in Input, a asked) error {
	a.State = in.State
	for _, q := range in.Questions {
		a.Questions = append(a.Questions, wanted{Key: q.Key, Mode: q.Mode, Message: q.Message, Schema: q.Schema, URL: q.URL})
	}
	return a.next(nil)
}

// talks are the calls under way of a server of the handshake era, which asks while it works on one.
type talks struct {
	aside ElicitFunc // for questions about no call; nil for nobody
	group sync.WaitGroup
	mu    sync.Mutex
	list  []*talk
}

// talk is a call that goes on while the loop asks the person.
type talk struct {
	callID    string
	before    asked // what was asked before it was made
	shows     atomic.Pointer[reporter]
	questions chan talked
	waits     chan Answer // of the question that was put; nil where none was
	number    int         // of that question
	done      chan struct{}
	raw       json.RawMessage // with in and err, once done is closed
	in        *Input
	err       error
}

type talked struct {
	Question
	answer chan Answer
}

// errTalkGone is why an answer comes too late for a server of the handshake era.
var errTalkGone = errors.New("who asked is gone, and the call with it; whether it took effect is not known")

// talk is play for servers of the handshake era. The call goes on while the person is asked, and ends with the turn. Where
// it was refused until a page is opened, it has ended, and is made anew with the answer.
func (c *Client) talk(ctx context.Context, j loop.Job, k task, shows *reporter) (json.RawMessage, error) {
	t := c.talks.find(j.Call.ID)
	switch n := len(j.Answers); {
	case t == nil && (n == 0 || len(j.Answers[n-1].State) > 0):
		before, err := c.answered(j)
		if err == nil {
			err = c.agreed(&before, j)
		}
		if err != nil {
			return nil, err
		}
		t = c.beginTalk(ctx, j, k, before)
	case n == 0 || t == nil || t.waits == nil:
		return nil, fmt.Errorf("server %s: %w", c.server.Name, errTalkGone)
	default:
		a := j.Answers[n-1]
		t.waits <- Answer{Action: string(a.Action), Content: a.Content}
		t.waits = nil
	}
	t.shows.Store(shows)
	defer t.shows.Store(nil)
	select {
	case <-t.done:
		if t.err != nil || t.in == nil {
			return t.raw, t.err
		}
		return nil, c.wantsPages(j, t)
	case q := <-t.questions:
		t.waits = q.answer
		t.number++
		id := strconv.Itoa(t.number)
		if q.URL != "" && q.Key != "" {
			c.conn.opened.add(q.Key, j.Call.ID, id)
		}
		return nil, &loop.NeedsAnswer{Question: loop.Question{
			ID: id, Message: q.Message, Schema: q.Schema, URL: q.URL, Fleeting: true,
		}}
	}
}

// agreed notes the pages that were asked for as opened, or is an error where the person has not agreed to one.
func (c *Client) agreed(a *asked, j loop.Job) error {
	given, err := a.responses(c.server.Name, j.Answers)
	if err != nil {
		return err
	}
	for _, q := range a.Questions {
		a.Opened = append(a.Opened, q.Key)
	}
	return c.accepted(given)
}

// beginTalk makes the request of a job.
func (c *Client) beginTalk(ctx context.Context, j loop.Job, k task, before asked) *talk {
	t := c.talks.begin(j.Call.ID)
	t.before, t.number = before, len(j.Answers)
	send := k.send(func(line string) {
		if shows := t.shows.Load(); shows != nil {
			shows.show(line)
		}
	})
	c.talks.group.Go(func() {
		defer c.talks.end(t)
		t.raw, t.in, t.err = c.past(ctx, before.Opened, func() (json.RawMessage, *Input, error) {
			return c.round(ctx, retry{}, k.safe, send)
		})
	})
	return t
}

// wantsPages is the question for the first page that a call must wait for.
func (c *Client) wantsPages(j loop.Job, t *talk) error {
	a := asked{Round: t.before.Round + 1, Opened: t.before.Opened}
	if a.Round > maxRounds {
		return fmt.Errorf("server %s: %w: it has asked %d times and is not done", c.server.Name, ErrInput, maxRounds)
	}
	for _, q := range t.in.Questions {
		c.conn.opened.add(q.Key, j.Call.ID, a.id(q.Key))
	}
	return c.needs(*t.in, a)
}

func (t *talks) find(callID string) *talk {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.list {
		if one.callID == callID {
			return one
		}
	}
	return nil
}

func (t *talks) begin(callID string) *talk {
	one := &talk{callID: callID, questions: make(chan talked), done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, one)
	return one
}

func (t *talks) end(one *talk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.list {
		if other == one {
			t.list = append(t.list[:i:i], t.list[i+1:]...)
		}
	}
	close(one.done)
}

// elicit takes a question to the loop, by way of the call that it must be about. A server does not say which that is: it
// is the latest one. While no call is under way the question is asked aside, and without somebody there the server is told
// that nobody chose.
func (t *talks) elicit(ctx context.Context, q Question) (Answer, error) {
	t.mu.Lock()
	if len(t.list) == 0 {
		t.mu.Unlock()
		if t.aside != nil {
			return t.aside(ctx, q)
		}
		return Answer{Action: ActionCancel}, nil
	}
	one := t.list[len(t.list)-1]
	t.mu.Unlock()
	answer := make(chan Answer, 1)
	select {
	case one.questions <- talked{q, answer}:
	case <-one.done:
		return Answer{Action: ActionCancel}, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	select {
	case a := <-answer:
		return a, nil
	case <-one.done:
		return Answer{Action: ActionCancel}, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}
