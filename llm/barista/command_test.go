package barista

import (
	"testing"

	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
)

func TestSlashCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content loop.Blocks
		want    string
	}{
		"a skill": {
			loop.Blocks{loop.Text{Text: "<context>\nOrder two lattes.\n</context>"}, loop.Text{Text: "/coffee-order a morning bun"}},
			"a morning bun",
		},
		"a server's prompt": {
			loop.Blocks{loop.Text{Text: "Write a reply about 12 lattes."}, loop.Text{Text: "/cart:catering_reply event=party people=12"}},
			"write a text",
		},
		"no command": {loop.Blocks{loop.Text{Text: "a latte / a tea"}}, "a latte / a tea"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, promptOf(c.content))
		})
	}
}
