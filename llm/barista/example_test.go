package barista_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cartagent/cartagent/llm/barista"
	"github.com/cartagent/cartagent/loop"
)

// The first thing that the model does at a cart is to read its menu.
func ExampleNew() {
	request := loop.Request{
		Tools: []loop.Spec{
			{Name: "cart__create_order", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "cart__add_item", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "mcp_read", Schema: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []loop.Message{{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "A flat white, please"}}}},
	}
	for chunk, err := range barista.New().Stream(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if chunk.Kind == loop.ChunkReply {
			call := chunk.Reply.Message.Calls[0]
			fmt.Println(call.Tool, string(call.Args))
		}
	}
	// Output: mcp_read {"server":"cart","uri":"menu://today"}
}
