package cart

import (
	"fmt"
	"slices"
)

// A tool is what tools/list shows of it and what a call of it does.
type tool struct {
	name, title string
	about       func(Env) string
	params      []param
	output      func() body
	hints       hints
	honoursKey  bool // sends of one idempotency key act once
	reach       func(call) reach
	run         func(call) step
}

// hints are a tool's annotations. No tool of the cart reaches beyond it.
type hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

func orderParam() param {
	return param{name: "order", about: "The handle that create_order returned.", required: true}
}

func says(words string) func(Env) string { return func(Env) string { return words } }

// tools are the cart's tools in the order they are listed, which never varies.
func tools() []tool {
	return []tool{
		{
			name: "create_order", title: "Start a pickup order",
			about: func(e Env) string {
				return fmt.Sprintf("Start an empty pickup order. Returns its handle, which every other tool takes as `order`. "+
					"Nothing is made or charged until place_order. The order expires after %s if it is not placed.", spoken(e.Expire))
			},
			output: handleSchema, reach: startReach, run: createOrder,
		},
		{
			name: "add_item", title: "Add an item to an order",
			about: says("Add one item from today's menu (resource menu://today) to an open order; call it once for each item. Drinks come in sizes: " +
				"give `size` if the customer named one, and leave it out if not, then the customer is asked. Returns all lines and the total in cents."),
			params: []param{
				orderParam(),
				{name: "item", about: "The item's name as on today's menu; case does not matter.", required: true},
				{name: "size", about: "The size of a drink. Never guess it.", sized: true},
			},
			output: linesSchema, reach: changeReach, run: addItem,
		},
		{
			name: "remove_item", title: "Remove a line from an order",
			about: says("Take one line off an open order. Lines are counted from 1 in the order that the last answer showed them, " +
				"and those below move up. Returns the lines that are left and the total in cents."),
			params: []param{orderParam(), {name: "line", about: "Which line to remove; the first is 1.", required: true, integer: true}},
			output: linesSchema, hints: hints{Destructive: true}, reach: changeReach, run: removeItem,
		},
		{
			name: "get_order", title: "Look at an order",
			about:  says("Show an order's lines, its total in cents and its status: open, placed (with its number) or cancelled. Changes nothing."),
			params: []param{orderParam()},
			output: statusSchema, hints: hints{ReadOnly: true, Idempotent: true}, reach: lookReach, run: getOrder,
		},
		{
			name: "place_order", title: "Place an order",
			about: says("Send an open order to the barista. This commits the customer to pay and cannot be undone here: call it only after the customer " +
				"has seen the lines and the total and agreed. Returns the order number to call out at pickup. To retry a call whose answer was lost, send the same idempotency_key."),
			params: []param{
				orderParam(),
				{name: "name", about: "The name to call out at pickup.", most: maxNameRunes},
				{name: "idempotency_key", about: "Any text that is new for each order. Calls with the same key place the order once and get the same answer.", least: 1, most: maxKeyRunes},
			},
			output: placedSchema, hints: hints{Destructive: true, Idempotent: true}, honoursKey: true, reach: placeReach, run: placeOrder,
		},
		{
			name: "cancel_order", title: "Cancel an order",
			about:  says("Give up an order that was not placed. It cannot be opened again; cancelling it twice does no harm. Returns what was on it."),
			params: []param{orderParam()},
			output: statusSchema, hints: hints{Destructive: true, Idempotent: true}, reach: changeReach, run: cancelOrder,
		},
	}
}

func toolList(env Env) []body {
	var list []body
	for _, t := range tools() {
		entry := body{
			"name":         t.name,
			"title":        t.title,
			"description":  t.about(env),
			"inputSchema":  inputSchema(t.params),
			"outputSchema": t.output(),
			"annotations":  t.hints,
		}
		if t.honoursKey {
			entry["_meta"] = body{metaKey: true}
		}
		list = append(list, entry)
	}
	return list
}

func handleSchema() body {
	return body{"type": "object", "properties": body{"order": body{"type": "string"}}, "required": []string{"order"}}
}

// linesSchema describes what every answer about an order has.
func linesSchema() body {
	sizeOrNull := []any{Small, Medium, Large, nil}
	line := body{
		"type": "object",
		"properties": body{
			"item":  body{"type": "string"},
			"size":  body{"enum": sizeOrNull},
			"cents": body{"type": "integer"},
		},
		"required": []string{"item", "size", "cents"},
	}
	return body{
		"type": "object",
		"properties": body{
			"order":      body{"type": "string"},
			"lines":      body{"type": "array", "items": line},
			"totalCents": body{"type": "integer"},
		},
		"required": []string{"order", "lines", "totalCents"},
	}
}

func placedSchema() body { return extended("number") }
func statusSchema() body { return extended("status") }

// extended is linesSchema with one more required property, and those that a placed order has.
func extended(required string) body {
	s := linesSchema()
	properties, _ := s["properties"].(body)
	properties["number"] = body{"type": "integer", "minimum": 1}
	properties["name"] = body{"type": "string"}
	properties["status"] = body{"enum": []Status{Open, Placed, Cancelled}}
	s["required"] = append(slices.Clone(s["required"].([]string)), required)
	return s
}
