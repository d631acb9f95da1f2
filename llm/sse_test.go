package llm_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm"
)

func events(t *testing.T, in io.Reader) ([]string, error) {
	t.Helper()
	var out []string
	e := llm.NewEvents(in)
	for {
		data, err := e.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"plain":                  {"data: 1\n\ndata: 2\n\n", []string{"1", "2"}},
		"named, with comments":   {": hi\nevent: x\nid: 3\nretry: 5\ndata: {}\n\n: bye\n\n", []string{"{}"}},
		"crlf":                   {"event: x\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []string{"1", "2"}},
		"no space":               {"data:1\n\n", []string{"1"}},
		"one space only":         {"data:  1\n\n", []string{" 1"}},
		"several lines":          {"data: a\ndata: b\n\n", []string{"a\nb"}},
		"no data":                {"event: x\n\ndata: 1\n\ndata\n\n", []string{"1"}},
		"another field":          {"datum: 1\ndata: 2\n\n", []string{"2"}},
		"whole without its end":  {"data: {\"a\":1}", []string{`{"a":1}`}},
		"cut":                    {"data: 1\n\ndata: {\"a\":", []string{"1"}},
		"end mark without a end": {"data: [DONE]", []string{"[DONE]"}},
		"empty":                  {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := events(t, strings.NewReader(c.in))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			got, err = events(t, iotest.OneByteReader(strings.NewReader(c.in)))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestC024LongLines(t *testing.T) {
	t.Parallel()
	for _, n := range []int{65_535, 65_536, 1_048_577, 8 << 20, llm.MaxEvent} {
		long := strings.Repeat("x", n)
		got, err := events(t, io.MultiReader(strings.NewReader("data: "+long), strings.NewReader("\n\ndata: 2\n\n")))
		require.NoError(t, err, n)
		require.Len(t, got, 2)
		assert.True(t, got[0] == long, n) //nolint:testifylint // the text is too long to print
		assert.Equal(t, "2", got[1])
	}
	_, err := events(t, endless{})
	require.ErrorIs(t, err, llm.ErrEventTooLong)
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestEventsKeepTheReadError(t *testing.T) {
	t.Parallel()
	why := errors.New("gone")
	got, err := events(t, io.MultiReader(strings.NewReader("data: 1\n\ndata: 2"), iotest.ErrReader(why)))
	assert.Equal(t, []string{"1"}, got)
	require.ErrorIs(t, err, why)
}
