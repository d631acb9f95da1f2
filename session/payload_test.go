package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// inBlobs is a load for restore.
func inBlobs(payloads []payload) func(string) ([]byte, error) {
	return func(sum string) ([]byte, error) {
		for _, p := range payloads {
			if p.sum == sum {
				return p.data, nil
			}
		}
		return nil, errors.New("it is missing")
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a<b\n", payloadLimit/4)
	picture := bytes.Repeat([]byte{0x89, 'P', 'N', 'G'}, payloadLimit/4+1)
	sum := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		body  string
		blobs []string
	}{
		"nothing":               {`{}`, nil},
		"short":                 {`{"text":"a","n":[1,-2.5e3,true,null,{}]}`, nil},
		"at the limit":          {`{"text":"` + strings.Repeat("x", payloadLimit) + `"}`, nil},
		"escapes made it long":  {`{"text":"` + strings.Repeat(`\n`, payloadLimit) + `"}`, nil},
		"a text":                {`{"text":` + string(quoted(long+"x")) + `,"z":1}`, []string{long + "x"}},
		"two in a list":         {`[` + string(quoted(long+"1")) + `,` + string(quoted(long+"2")) + `]`, []string{long + "1", long + "2"}},
		"a picture":             {`{"data":"` + base64.StdEncoding.EncodeToString(picture) + `"}`, []string{string(picture)}},
		"base64 that is a text": {`{"text":"` + strings.Repeat("abcd", payloadLimit/4) + `abcd"}`, []string{strings.Repeat("abcd", payloadLimit/4+1)}},
		"data that is no base64": {
			`{"data":"` + strings.Repeat("x", payloadLimit+1) + `"}`, []string{strings.Repeat("x", payloadLimit+1)},
		},
		"escaped another way": {
			`{"text":"\u0041` + strings.Repeat("x", payloadLimit) + `"}`, []string{`"\u0041` + strings.Repeat("x", payloadLimit) + `"`},
		},
		"half a surrogate": {
			`{"args":{"x":"\ud800` + strings.Repeat("x", payloadLimit) + `"}}`, []string{`"\ud800` + strings.Repeat("x", payloadLimit) + `"`},
		},
		"many small ones": {
			`{"raw":[0` + strings.Repeat(`,"small"`, payloadLimit/8) + `]}`, []string{`[0` + strings.Repeat(`,"small"`, payloadLimit/8) + `]`},
		},
		"a marker that is data":       {`{"args":{"$blob":"` + sum + `"}}`, nil},
		"an escaped marker":           {`{"args":{"$$blob":"` + sum + `","as":"json"}}`, nil},
		"what is like a marker":       {`{"args":{"$blob":5},"x":{"$blob":"short"},"y":{"$blob2":1},"$":{"$":2}}`, nil},
		"a marker in a text":          {`{"text":"{\"$blob\":\"` + sum + `\"}"}`, nil},
		"a marker as the second key":  {`{"a":1,"$blob":"` + sum + `"}`, nil},
		"a marker in a large payload": {`{"raw":{"$blob":"` + sum + `","l":[1` + strings.Repeat(`,1234567`, payloadLimit/8) + `]}}`, []string{`{"$blob":"` + sum + `","l":[1` + strings.Repeat(`,1234567`, payloadLimit/8) + `]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, json.Valid([]byte(c.body)))
			out, payloads := split([]byte(c.body))
			require.Len(t, payloads, len(c.blobs))
			for i, b := range c.blobs {
				assert.Equal(t, b, string(payloads[i].data))
			}
			assert.True(t, json.Valid(out))
			if len(c.blobs) > 0 {
				assert.Less(t, len(out), payloadLimit)
			}
			back, problems := restore(out, inBlobs(payloads))
			assert.Empty(t, problems)
			assert.Equal(t, c.body, string(back))
		})
	}
}

// TestLostPayload: what is in the place of a payload that is gone still is an input, and says so.
func TestLostPayload(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte{1, 2, 3}, payloadLimit)
	args := json.RawMessage(`{"list":[1` + strings.Repeat(",12345678", payloadLimit/8) + `]}`)
	words := "[What was here is lost: it is missing.]"
	for name, c := range map[string]struct{ in, want loop.Input }{
		"text": {said(strings.Repeat("text ", payloadLimit))[0], said(words)[0]},
		"image and more": {
			loop.Prompted{Content: loop.Blocks{loop.Image{Data: big, MIME: "image/png"}, loop.Audio{Data: big, MIME: "audio/wav"}}},
			loop.Prompted{Content: loop.Blocks{loop.Text{Text: words}, loop.Text{Text: words}}},
		},
		"resource": {
			loop.Prompted{Content: loop.Blocks{loop.Resource{URI: "file:///x", MIME: "application/pdf", Blob: big}}},
			loop.Prompted{Content: loop.Blocks{loop.Resource{URI: "file:///x", MIME: "application/pdf", Text: words}}},
		},
		"arguments": {
			loop.Replied{Message: loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{{Tool: "t", Args: args}}}},
			loop.Replied{Message: loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{
				{Tool: "t", Args: json.RawMessage(`{"lost":"` + words + `"}`)},
			}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, body, err := loop.EncodeInput(c.in)
			require.NoError(t, err)
			out, payloads := split(body)
			require.NotEmpty(t, payloads)
			back, problems := restore(out, inBlobs(nil))
			assert.Len(t, problems, len(payloads))
			got, err := loop.DecodeInput(kind, back)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

// FuzzSplit: what was split comes back as it was, byte for byte, whatever it looks like.
func FuzzSplit(f *testing.F) {
	f.Add([]byte(`{"text":"x"}`), 3)
	f.Add([]byte(`{"$blob":"`+strings.Repeat("0", 64)+`"}`), 1)
	f.Add([]byte(`{"args":{"$$blob":"\u0041","$blob":[{"data":"QUFB"}]}}`), 40_000)
	f.Add([]byte(`["{\"$blob\":",{"raw":[1,2,"x"]}]`), 70_000)
	f.Fuzz(func(t *testing.T, body []byte, repeat int) {
		var compact bytes.Buffer
		if json.Compact(&compact, body) != nil {
			return
		}
		// One of its letters many times makes it a body with payloads.
		body = bytes.Replace(compact.Bytes(), []byte("A"), bytes.Repeat([]byte("A"), min(max(repeat, 1), 100_000)), 1)
		out, payloads := split(body)
		require.True(t, json.Valid(out))
		back, problems := restore(out, inBlobs(payloads))
		require.Empty(t, problems)
		require.Equal(t, string(body), string(back))
	})
}
