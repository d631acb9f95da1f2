package mcpclient

import (
	"fmt"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// maxText is how many bytes of text of one result reach a session: more would fill a model's window at once, and with that
// the session could not even be made shorter.
const maxText = 256 << 10

// Fitted is content of which the text fits into a session. What is left out, at the end, is told in words.
func Fitted(content loop.Blocks) loop.Blocks {
	out := make(loop.Blocks, 0, len(content))
	left, gone := maxText, 0
	for _, b := range content {
		switch v := b.(type) {
		case loop.Text:
			if v.Text = cutText(v.Text, &left, &gone); v.Text == "" {
				continue
			}
			b = v
		case loop.Resource:
			v.Text = cutText(v.Text, &left, &gone)
			b = v
		default: // it is named, and no more
		}
		out = append(out, b)
	}
	if gone == 0 {
		return content
	}
	return append(out, loop.Text{Text: fmt.Sprintf("(The result is larger than a session takes: its last %d bytes of text are left out here. "+
		"Ask for less, or for the rest, if the server can do that.)", gone)})
}

// cutText is the beginning of a text of which so much is left to be shown, up to the end of a line if one is near.
func cutText(text string, left, gone *int) string {
	if len(text) <= *left {
		*left -= len(text)
		return text
	}
	shown := strings.ToValidUTF8(text[:*left], "")
	if end := strings.LastIndexByte(shown, '\n') + 1; end > len(shown)/2 {
		shown = shown[:end]
	}
	*gone += len(text) - len(shown)
	*left = 0
	return shown
}
