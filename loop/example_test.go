package loop_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

// The core alone: inputs go in, effects come out, and nothing happens.
func ExampleStep() {
	var s loop.State
	for _, in := range []loop.Input{
		loop.Configured{Specs: []loop.Spec{{Name: "add_item", Description: "Adds an item to the order."}}},
		loop.Prompted{MessageID: "msg_u1", Content: loop.Blocks{loop.Text{Text: "A latte, please."}}},
		loop.Replied{Message: loop.Message{Calls: []loop.Call{loop.NewCall("", "add_item", `{"item":"latte"}`)}}},
		loop.Previewed{CallID: "call_1_1", Preview: loop.Preview{Title: "Add a latte"}},
		loop.Decided{CallID: "call_1_1", Outcome: loop.RejectOnce},
		loop.Finished{Result: loop.Result{CallID: "call_1_1"}}, // does not fit: the call was refused
		loop.Replied{Message: loop.Message{Content: loop.Blocks{loop.Text{Text: "As you wish."}}}, Stop: loop.StopEndTurn},
	} {
		var effects []loop.Effect
		s, effects = loop.Step(s, in)
		fmt.Printf("%T\n", in)
		for _, e := range effects {
			switch v := e.(type) {
			case loop.Emit:
				fmt.Printf("  emit %T\n", v.Event)
			case loop.AskUser:
				fmt.Printf("  ask: %s?\n", v.Preview.Title)
			case loop.EndTurn:
				fmt.Printf("  end: %s\n", v.Reason)
			case loop.AskModel, loop.PreviewCall, loop.Intend, loop.RunTool, loop.CheckCall, loop.AskForm, loop.FailTurn:
				fmt.Printf("  %T\n", v)
			}
		}
	}
	// Output:
	// loop.Configured
	// loop.Prompted
	//   emit loop.UserText
	//   loop.AskModel
	// loop.Replied
	//   emit loop.ToolProposed
	//   loop.PreviewCall
	// loop.Previewed
	//   emit loop.ToolPreviewed
	//   ask: Add a latte?
	// loop.Decided
	//   emit loop.ToolFinished
	//   loop.AskModel
	// loop.Finished
	// loop.Replied
	//   emit loop.AgentText
	//   emit loop.TitleChanged
	//   end: end_turn
}

// A log is a list of inputs, and replaying it tells a client all over again what happened.
func ExampleReplay() {
	log := []loop.Input{
		loop.Prompted{Content: loop.Blocks{loop.Text{Text: "Hi."}}},
		loop.Streamed{Kind: loop.ChunkText, Text: "Good "},
		loop.Streamed{Kind: loop.ChunkText, Text: "morning."},
		loop.Replied{Message: loop.Message{Content: loop.Blocks{loop.Text{Text: "Good morning."}}}, Stop: loop.StopEndTurn},
	}
	s, events := loop.Replay(slices.Values(log))
	fmt.Println(len(events), "events,", len(s.History()), "messages, idle:", s.Idle())
	// Output: 4 events, 2 messages, idle: true
}

// clock is a tool that tells the time.
type clock struct{}

func (clock) Spec() loop.Spec {
	return loop.Spec{
		Name: "clock", Description: "Tells the time.", Schema: []byte(`{"type":"object"}`),
		Kind: loop.KindRead, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}
}

func (clock) Preview(context.Context, loop.Call) (loop.Preview, error) {
	return loop.Preview{Title: "Look at the clock"}, nil
}

func (clock) Run(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
	return loop.Result{Content: loop.Blocks{loop.Text{Text: "noon"}}}, nil
}

// A whole turn: the model, here one that plays a list of replies, calls a tool and answers.
func ExampleRunner() {
	r := &loop.Runner{
		Model: scripted.New(scripted.Ask("clock", "{}"), scripted.Reply{Text: []string{"It is noon."}, Expect: "noon"}),
		Tools: []loop.Tool{clock{}},
	}
	s, err := r.Configure(loop.State{}, loop.Configured{Specs: []loop.Spec{clock{}.Spec()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt := loop.Prompted{MessageID: "msg_u1", Content: loop.Blocks{loop.Text{Text: "What time is it?"}}}
	s, reason, err := r.Run(context.Background(), s, prompt, func(_ context.Context, e loop.Event) error {
		switch v := e.(type) {
		case loop.UserText:
			fmt.Println("user:", loop.TextOf(loop.Blocks{v.Part}))
		case loop.ToolPreviewed:
			fmt.Println("tool:", v.Preview.Title)
		case loop.ToolFinished:
			fmt.Println("tool:", loop.TextOf(v.Result.Content))
		case loop.AgentText:
			fmt.Println("agent:", v.Text)
		default: // not shown here
		}
		return nil
	})
	fmt.Println(reason, err, len(s.History()))
	// Output:
	// user: What time is it?
	// tool: Look at the clock
	// tool: noon
	// agent: It is noon.
	// end_turn <nil> 4
}

// Rules are data that carry their own tests. The strictest that matches wins.
func ExampleRules_Decide() {
	rules := loop.Rules{
		{Tool: "terminal", Prefix: []string{"git"}, Verdict: loop.Allow},
		{
			Tool: "terminal", Prefix: []string{"git", "push"}, Verdict: loop.Deny, Why: "pushing is for people",
			Match: []string{"git push --force"}, Miss: []string{"git pull"},
		},
	}
	fmt.Println(rules.Check())
	for _, words := range [][]string{{"git", "log"}, {"git", "push"}, {"make"}} {
		verdict, why := rules.Decide(loop.Spec{Name: "terminal"}, loop.Preview{Subjects: []loop.Subject{{Words: words}}})
		fmt.Printf("%s %q\n", verdict, why)
	}
	// Output:
	// <nil>
	// allow ""
	// deny "pushing is for people"
	// ask ""
}
