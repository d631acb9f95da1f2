package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

type planArgs struct {
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string  `json:"content" jsonschema:"the step, in a few words"`
	Status   string  `json:"status" jsonschema:"pending, in_progress or completed"`
	Priority *string `json:"priority,omitempty" jsonschema:"high, medium (the default) or low"`
}

func planTool() loop.Tool {
	return Define(loop.Spec{
		Name: "plan", Title: "Update the plan", Description: describe("plan"), Kind: loop.KindThink,
		ReadOnly: true, Default: loop.Allow,
	}, func(_ context.Context, in planArgs) (loop.Preview, error) {
		_, err := in.plan()
		return loop.Preview{Title: "Update the plan"}, err
	}, func(_ context.Context, in planArgs, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
		p, err := in.plan()
		if err != nil {
			return loop.Result{}, err
		}
		return loop.Result{Content: text("Plan updated."), Display: loop.Blocks{p}}, nil
	})
}

// plan is the plan that the arguments describe, checked.
func (a planArgs) plan() (loop.Plan, error) {
	p := loop.Plan{Entries: make([]loop.PlanEntry, len(a.Entries))}
	for i, e := range a.Entries {
		entry := loop.PlanEntry{Content: strings.TrimSpace(e.Content), Status: e.Status, Priority: optional(e.Priority, "medium")}
		if entry.Content == "" {
			return p, fmt.Errorf("%w: \"entries[%d].content\" is empty: say what the step is", ErrArguments, i)
		}
		if err := oneOf(fmt.Sprintf("entries[%d].status", i), entry.Status, "pending", "in_progress", "completed"); err != nil {
			return p, err
		}
		if err := oneOf(fmt.Sprintf("entries[%d].priority", i), entry.Priority, "high", "medium", "low"); err != nil {
			return p, err
		}
		p.Entries[i] = entry
	}
	return p, nil
}

func oneOf(name, got string, known ...string) error {
	if slices.Contains(known, got) {
		return nil
	}
	last := len(known) - 1
	return fmt.Errorf("%w: %q is %q; it must be %s or %s", ErrArguments, name, got, strings.Join(known[:last], ", "), known[last])
}
