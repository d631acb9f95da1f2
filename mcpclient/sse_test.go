package mcpclient

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seen is an event as a test writes it.
type seenEvent struct {
	name, data, id string
	retry          time.Duration
}

func readEvents(t *testing.T, r io.Reader, limit int) (out []seenEvent, long []*tooLong) {
	t.Helper()
	in := newEvents(r, limit)
	for {
		ev, err := in.next()
		if l, ok := errors.AsType[*tooLong](err); ok {
			long = append(long, l)
			continue
		}
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return out, long
		}
		s := seenEvent{name: ev.name, data: string(ev.data), retry: ev.retry}
		if ev.id != nil {
			s.id = *ev.id
		}
		out = append(out, s)
	}
}

// TestEvents is the parsing of case C032, whole and byte by byte.
func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []seenEvent
	}{
		"nothing":              {"", nil},
		"comments":             {": hi\r\n\r\n:\n\n:ping\r\r", nil},
		"a name":               {"event: keepalive\ndata: {}\n\n", []seenEvent{{name: "keepalive", data: "{}"}}},
		"empty data":           {"data:\n\n", []seenEvent{{}}},
		"data without colon":   {"data\n\n", []seenEvent{{}}},
		"an id and a time":     {"id: 7\nretry: 100\n\n", []seenEvent{{id: "7", retry: 100 * time.Millisecond}}},
		"an id with a NUL":     {"id: 7\x00\ndata: x\n\n", []seenEvent{{data: "x"}}},
		"a time that is none":  {"retry: 1s\ndata: x\n\n", []seenEvent{{data: "x"}}},
		"two lines":            {"data: {\"a\":\ndata: 1}\n\n", []seenEvent{{data: "{\"a\":\n1}"}}},
		"lines with an end":    {"data: a\ndata:\ndata: b\n\n", []seenEvent{{data: "a\n\nb"}}},
		"CR only":              {"event: m\rdata: a\rdata: b\r\rdata: c\r\r", []seenEvent{{name: "m", data: "a\nb"}, {data: "c"}}},
		"CRLF":                 {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []seenEvent{{data: "a\nb"}, {data: "c"}}},
		"mixed":                {"data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", []seenEvent{{data: "a"}, {data: "b"}, {data: "c"}}},
		"no space":             {"data:{\"a\":1}\n\n", []seenEvent{{data: `{"a":1}`}}},
		"two spaces":           {"data:  x\n\n", []seenEvent{{data: " x"}}},
		"a mark of the order":  {"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n", []seenEvent{{data: "x"}}},
		"letters of more":      {"data: größer 購入\n\n", []seenEvent{{data: "größer 購入"}}},
		"unknown fields":       {"datas: a\nfoo: b\nda: c\ndata: d\n\n", []seenEvent{{data: "d"}}},
		"a blank line too few": {"data: x\n\ndata: y\n", []seenEvent{{data: "x"}, {data: "y"}}},
		"no end of the line":   {"data: x", []seenEvent{{data: "x"}}},
		"a long other field":   {"event: " + strings.Repeat("e", 2*maxField) + "\ndata: x\n\n", []seenEvent{{name: strings.Repeat("e", maxField-len("event: ")), data: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, long := readEvents(t, r, maxLine)
				assert.Equal(t, c.want, got)
				assert.Empty(t, long)
			}
		})
	}
}

// TestLongEvents: an event beyond the limit is one error, in bounded memory, and the next one is read.
func TestLongEvents(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	for name, long := range map[string]string{
		"one line":   "data: BEGIN" + strings.Repeat("x", limit) + "END\n\n",
		"many lines": "data: BEGIN\n" + strings.Repeat("data: "+strings.Repeat("x", 98)+"\n", limit/99+1) + "data: END\n\n",
		"no end":     "data: BEGIN" + strings.Repeat("x", 40*limit) + "END\r\r",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fits := strings.Repeat("y", limit)
			in := newEvents(strings.NewReader(long+"data: "+fits+"\n\n"), limit)
			_, err := in.next()
			l, ok := errors.AsType[*tooLong](err)
			require.True(t, ok, "%v", err)
			assert.Greater(t, l.size, limit)
			assert.True(t, strings.HasPrefix(string(l.head), "BEGIN"))
			assert.True(t, strings.HasSuffix(string(l.tail), "END"))
			assert.LessOrEqual(t, cap(in.data), 4*limit)
			ev, err := in.next()
			require.NoError(t, err)
			assert.Equal(t, fits, string(ev.data))
		})
	}
	_, err := newEvents(io.MultiReader(strings.NewReader("data: x"), iotest.ErrReader(io.ErrUnexpectedEOF)), limit).next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "half an event of a broken stream is none")
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\r\ndata: b\n\r\n: c\rid: 1\n\n")
	f.Add("\xef\xbb\xbfevent:x\ndata\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		whole, longWhole := readEvents(t, strings.NewReader(s), 50)
		bytes, longBytes := readEvents(t, iotest.OneByteReader(strings.NewReader(s)), 50)
		assert.Equal(t, whole, bytes)
		assert.Len(t, longBytes, len(longWhole))
	})
}
