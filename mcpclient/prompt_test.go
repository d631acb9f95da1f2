//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestCartPrompts asks for the prompts of the real cart.
func TestCartPrompts(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	c := open(t, Server{Name: "cart", Command: exe, Env: map[string]string{cartVar: EraModern}}, Options{})
	list, err := c.Prompts(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, Prompt{
		Name: "weekly_special", Title: "Announce the week's special",
		Description: "A short notice for this week's special, with its price.",
	}, list[0])
	catering := list[1]
	assert.Equal(t, "catering_reply", catering.Name)
	assert.Equal(t, "event=… people=…", catering.Hint())

	special, err := c.Prompt(t.Context(), "weekly_special", nil)
	require.NoError(t, err)
	require.Len(t, special, 1)
	assert.Contains(t, loop.TextOf(special), "this week's special")

	args, err := ParseArguments(`people=40 'a garden wedding'`, catering)
	require.NoError(t, err)
	reply, err := c.Prompt(t.Context(), "catering_reply", args)
	require.NoError(t, err)
	require.Len(t, reply, 1)
	assert.Contains(t, loop.TextOf(reply), "The event: a garden wedding\nPeople: 40\n")

	_, err = c.Prompt(t.Context(), "catering_reply", map[string]string{"event": "a fair"})
	require.EqualError(t, err, "getting the prompt catering_reply: it needs people (How many people come, from 1 to 1000.); "+
		"its arguments are: event=… people=…")
	var rpc *RPCError
	_, err = c.Prompt(t.Context(), "catering_reply", map[string]string{"event": "a fair", "people": "lots"})
	require.ErrorAs(t, err, &rpc)
	require.ErrorContains(t, err, "people must be a whole number")
	_, err = c.Prompt(t.Context(), "no_such", nil)
	require.ErrorContains(t, err, "getting the prompt no_such: server cart answered with an error: Unknown prompt: no_such")
}

// askAny is a stub's prompt that takes the result that it is to give.
const askAny = `{"name":"any","arguments":[{"name":"result","required":true},{"name":"why"}]}`

func TestPrompts(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Dir = t.TempDir()
			s.Prompts = []string{
				askAny,
				`{"name":"bare","title":"Bare","description":"Nothing to it.","arguments":null,"icons":[7]}`,
				`{"title":"no name"}`,
				`{"name":"two words"}`,
				`{"name":"bell\u0007"}`,
				`{"name":"any"}`,
				`{"name":7}`,
				`"what"`,
				`null`,
				`{"name":"odd1","arguments":[{"description":"no name"}]}`,
				`{"name":"odd2","arguments":[{"name":"a"},{"name":"a"}]}`,
				`{"name":"odd3","arguments":{}}`,
				`{"name":"odd4","arguments":[{"name":"a","required":"yes"}]}`,
			}
			o, logs := logged()
			c, err := Connect(t.Context(), s.server(t), o)
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			assert.Equal(t, era, c.Era())

			// Without a list before it, the prompt is looked up first.
			_, err = c.Prompt(t.Context(), "any", map[string]string{"why": "x"})
			require.EqualError(t, err, "getting the prompt any: it needs result; its arguments are: result=… [why=…]")
			list, err := c.Prompts(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []Prompt{
				{Name: "any", Arguments: []PromptArgument{{Name: "result", Required: true}, {Name: "why"}}},
				{Name: "bare", Title: "Bare", Description: "Nothing to it."},
			}, list)
			assert.Equal(t, 10, strings.Count(logs.String(), "prompt left out"), "each thing once: %s", logs.String())

			got, err := c.Prompt(t.Context(), "any", map[string]string{
				"result": `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`, "why": "two\nlines \"and\" 購入",
			})
			require.NoError(t, err)
			assert.Equal(t, loop.Blocks{loop.Text{Text: "hi"}}, got)
			_, err = c.Prompt(t.Context(), "hidden", nil)
			require.ErrorContains(t, err, "unknown prompt: hidden (code -32602)")
			require.NoError(t, c.Close())
			_, err = c.Prompt(t.Context(), "any", map[string]string{"result": "{}"})
			require.ErrorIs(t, err, ErrClosed)
			_, err = c.Prompts(t.Context())
			require.ErrorIs(t, err, ErrClosed)

			in, err := os.ReadFile(filepath.Join(s.Dir, "in"))
			require.NoError(t, err)
			var gets []string
			lists := 0
			for line := range strings.Lines(string(in)) {
				var r request
				require.NoError(t, json.Unmarshal([]byte(line), &r))
				switch r.Method {
				case "prompts/list":
					lists++
				case "prompts/get":
					gets = append(gets, r.Params.Name)
					assert.Equal(t, era == EraModern, strings.Contains(line, `"io.modelcontextprotocol/protocolVersion"`))
				}
			}
			assert.Equal(t, []string{"any", "hidden"}, gets, "what lacks an argument is not sent")
			assert.Equal(t, 3, lists, "a prompt that is known is not looked up again")
		})
	}
}

// TestNoPrompts: only a server that never said that it had prompts may fail to list them.
func TestNoPrompts(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := open(t, s.server(t), Options{})
			list, err := c.Prompts(t.Context())
			require.NoError(t, err)
			assert.Empty(t, list)
			_, err = c.Prompt(t.Context(), "any", nil)
			require.ErrorContains(t, err, "unknown prompt: any")
		})
	}
}

func TestPromptPages(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	pages := func(fails int, last *string) []page {
		return []page{
			{Items: []string{`{"name":"p0"}`, `{"name":"p1"}`}, Next: text("c 1/é")},
			{Cursor: text("c 1/é"), Items: []string{`{"name":"p2"}`}, Next: text(""), Fails: fails},
			{Cursor: text(""), Items: []string{`{"name":"p3"}`}, Next: last},
		}
	}
	for name, c := range map[string]struct {
		pages []page
		err   string
	}{
		"three":                      {pages(0, nil), ""},
		"the second fails twice":     {pages(2, nil), ""},
		"the second always fails":    {pages(99, nil), "listing the prompts: server shop answered with an error: try again"},
		"a cursor comes again":       {pages(0, text("c 1/é")), ""},
		"the last cursor is unknown": {pages(0, text("gone")), "bad cursor"},
	} {
		for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				s.PromptsIn = append([]page(nil), c.pages...)
				client := open(t, s.server(t), Options{})
				list, err := client.Prompts(t.Context())
				if c.err != "" {
					require.ErrorContains(t, err, c.err)
					_, err = client.Prompt(t.Context(), "p0", nil)
					require.ErrorContains(t, err, "getting the prompt p0: listing the prompts")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, []Prompt{{Name: "p0"}, {Name: "p1"}, {Name: "p2"}, {Name: "p3"}}, list)
			})
		}
	}
}

func TestPromptMessages(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Prompts = []string{askAny}
	c := open(t, s.server(t), Options{})
	message := func(role, content string) string { return fmt.Sprintf(`{"role":%q,"content":%s}`, role, content) }
	said := func(role, text string) string { return message(role, fmt.Sprintf(`{"type":"text","text":%q}`, text)) }
	for name, tc := range map[string]struct {
		messages []string
		want     loop.Blocks
	}{
		"every kind of content": {
			[]string{
				message("user", `{"type":"image","data":"AAE=","mimeType":"image/png"}`),
				message("user", `{"type":"audio","data":"AAE=","mimeType":"audio/wav"}`),
				message("user", `{"type":"resource_link","uri":"a:b","name":"n"}`),
				message("user", `{"type":"resource","resource":{"uri":"u","mimeType":"m","text":"t"}}`),
				message("user", `{"type":"poem","lines":[12345678901234567890]}`),
				message("user", `"just so"`),
			},
			loop.Blocks{
				loop.Image{Data: []byte{0, 1}, MIME: "image/png"},
				loop.Audio{Data: []byte{0, 1}, MIME: "audio/wav"},
				loop.Link{URI: "a:b", Name: "n"},
				loop.Resource{URI: "u", MIME: "m", Text: "t"},
				loop.Other{Type: "poem", Raw: json.RawMessage(`{"type":"poem","lines":[12345678901234567890]}`)},
				loop.Other{Raw: json.RawMessage(`"just so"`)},
			},
		},
		"roles": {
			[]string{said("user", "1"), said("assistant", "2"), said("assistant", "3"), said("user", "4"), said("user", "5")},
			loop.Blocks{
				loop.Text{Text: "1"},
				loop.Text{Text: "The assistant answered:"},
				loop.Text{Text: "2"},
				loop.Text{Text: "The assistant answered:"},
				loop.Text{Text: "3"},
				loop.Text{Text: "The user said:"},
				loop.Text{Text: "4"},
				loop.Text{Text: "5"},
			},
		},
		"an unknown role": {
			[]string{said("system", "1"), said("user", "2")},
			loop.Blocks{
				loop.Text{Text: `A message of the role "system":`},
				loop.Text{Text: "1"},
				loop.Text{Text: "The user said:"},
				loop.Text{Text: "2"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := `{"resultType":"complete","messages":[` + strings.Join(tc.messages, ",") + `]}`
			got, err := c.Prompt(t.Context(), "any", map[string]string{"result": result})
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestBadPromptResults(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Prompts = []string{askAny}
			c := open(t, s.server(t), Options{})
			for result, want := range map[string]error{
				`{"resultType":"input_required","inputRequests":{},"requestState":"s"}`: ErrInput,
				`{"resultType":"task","messages":[]}`:                                   ErrInvalid,
				`[]`:                                                                    ErrInvalid,
				`{}`:                                                                    ErrInvalid,
				`{"messages":[]}`:                                                       ErrInvalid,
				`{"messages":{}}`:                                                       ErrInvalid,
				`{"messages":["hi"]}`:                                                   ErrInvalid,
				`{"messages":[null]}`:                                                   ErrInvalid,
				`{"messages":[{"role":"user"}]}`:                                        ErrInvalid,
				`{"messages":[{"role":7,"content":{"type":"text","text":"hi"}}]}`: ErrInvalid,
			} {
				_, err := c.Prompt(t.Context(), "any", map[string]string{"result": result})
				require.ErrorIs(t, err, want, result)
				require.ErrorContains(t, err, "getting the prompt any: server shop: ")
			}
		})
	}
}

// TestPromptEnds: a prompt has the server's timeout, and ends with its context.
func TestPromptEnds(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Prompts = []string{`{"name":"any"}`}
	s.Mute = true
	server := s.server(t)
	server.Timeout = 200 * time.Millisecond
	c := open(t, server, Options{})
	_, err := c.Prompt(t.Context(), "any", nil)
	require.ErrorIs(t, err, ErrTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Prompt(ctx, "any", nil)
	require.ErrorIs(t, err, context.Canceled)
}
