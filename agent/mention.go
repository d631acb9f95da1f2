package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// mention is a resource as a person names it in a prompt: @server:uri, behind a space or a bracket.
var mention = regexp.MustCompile(`(?:^|[\s("'\[<])@([^\s:@]+):(\S+)`)

// maxMentions is how many resources one prompt may name; those behind are just words.
const maxMentions = 20

// mentioned is what the model is told beside a prompt that names resources: what they hold.
func mentioned(ctx context.Context, kit *Kit, content loop.Blocks) (loop.Blocks, error) {
	if kit.Resource == nil {
		return nil, nil
	}
	var out loop.Blocks
	var seen []string
	for _, b := range content {
		text, ok := b.(loop.Text)
		if !ok {
			continue
		}
		for _, m := range mention.FindAllStringSubmatch(text.Text, -1) {
			name := m[1] + ":" + m[2]
			if slices.Contains(seen, name) || len(seen) >= maxMentions {
				continue
			}
			seen = append(seen, name)
			blocks, err := named(ctx, kit, m[1], m[2])
			if err != nil {
				return nil, err
			}
			out = append(out, blocks...)
		}
	}
	return out, nil
}

// named reads a resource. What is no letter at its end may be the sentence's. One that is there and cannot be read is
// named to the model. The only error is that ctx has ended.
func named(ctx context.Context, kit *Kit, server, uri string) (loop.Blocks, error) {
	for _, uri := range slices.Compact([]string{uri, strings.TrimRight(uri, `.,;:!?)]}>'"`)}) {
		blocks, err := kit.Resource(ctx, server, uri)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			text := fmt.Sprintf("The user names the resource %s of the server %s, which could not be read: %v", uri, server, err)
			return loop.Blocks{loop.Text{Text: text}}, nil
		case len(blocks) > 0:
			return blocks, nil
		}
	}
	return nil, nil
}
