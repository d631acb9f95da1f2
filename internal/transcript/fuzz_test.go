package transcript_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func recordedSessions(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("../../testdata/sessions/*.txtar")
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	out := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(tb, err)
		out[filepath.Base(f)] = data
	}
	return out
}

// TestWhatIsReadIsWrittenAgain reads every recorded session and writes it to the same bytes.
func TestWhatIsReadIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, data := range recordedSessions(t) {
		s, err := transcript.Parse(data)
		require.NoError(t, err, name)
		out, err := s.Format()
		require.NoError(t, err, name)
		assert.Equal(t, string(data), string(out), name)
	}
}

// FuzzParse reads arbitrary bytes. What can be read is written so that it is read as the same, and written the same.
func FuzzParse(f *testing.F) {
	// Whole sessions are too large to be changed with any luck: these have one of each part.
	head := "-- manifest.json --\n{\"cartagent\":1,\"version\":\"0\",\"model\":\"m\"}\n"
	for _, seed := range []string{
		"", "no parts", "-- wire.jsonl --\n{}\n", head + "-- wire.jsonl --\n{\"in\":{\"a\":\"<&\"},\"at\":1}\n{\"out\":null}\n",
		head + "-- model.jsonl --\n{\"request\":{\"keep\":3,\"messages\":[]}}\n",
		head + "-- model.jsonl --\n{\"request\":{\"system\":\"a\",\"messages\":[{},{}]}}\n{\"request\":{\"keep\":1,\"tools\":[]}}\n{\"chunks\":[{\"text\":\"x\"},{}]}\n",
		head + "-- before/a --\nx\n-- before/a --\ny\n", head + "-- before/../a --\nx\n", head + "-- before.json/a --\n\"no newline\"\n",
		head + "-- before.json/a --\n{\"base64\":\"/w==\"}\n-- after/b --\nline\r\n",
		head + "-- tools.jsonl --\n{\"call\":\"c\",\"tool\":\"t\",\"runs\":[{\"disk\":{\"a\":null,\"b\":\"x\"},\"job\":{\"args\":1},\"progress\":[null,[{\"type\":\"odd\"}]]}]}\n",
		head + "-- kit.jsonl --\n{\"tools\":[],\"at\":2}\n{\"open\":{\"model\":\"x\",\"rules\":[{}]}}\n-- inputs.jsonl --\n{\"kind\":\"x\",\"body\":1}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := transcript.Parse(data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		once, err := s.Format()
		if err != nil {
			return // it holds JSON that is none of ours
		}
		again, err := transcript.Parse(once)
		require.NoError(t, err, "%q", once)
		twice, err := again.Format()
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}
