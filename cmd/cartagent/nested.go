package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/skills"
	"github.com/charmbracelet/log"
)

// guide tells the model of the AGENTS.md files below the working folder, each time work enters a part of the project
// that has other ones than those it was told of. It serves one session's tools.
type guide struct {
	cwd string
	log *log.Logger

	mu   sync.Mutex
	told map[string]bool
}

func newGuide(cwd string, logger *log.Logger) *guide {
	return &guide{cwd: cwd, log: logger, told: make(map[string]bool)}
}

// over puts the guide over the tools that work on a file.
func (g *guide) over(all []loop.Tool) []loop.Tool {
	out := slices.Clone(all)
	for i, t := range out {
		if slices.Contains([]string{"read", "write", "edit"}, t.Spec().Name) {
			out[i] = &guided{Tool: t, guide: g}
		}
	}
	return out
}

// news are the instructions for the file at path that were not told yet.
func (g *guide) news(path string) string {
	text, notes := skills.NestedInstructions(g.cwd, path)
	text = strings.TrimSpace(text)
	g.mu.Lock()
	defer g.mu.Unlock()
	if text == "" || g.told[text] {
		return ""
	}
	g.told[text] = true
	for _, n := range notes {
		g.log.Warn("instructions", "note", n)
	}
	return text
}

// guided is a tool whose results bring the instructions for the folder of its file, after what they say of it.
type guided struct {
	loop.Tool
	guide *guide
}

// Check is loop.Checker's. A tool that cannot tell is as good as one that does not know.
func (t *guided) Check(ctx context.Context, j loop.Job) (loop.Finding, loop.Result, error) {
	tool, ok := t.Tool.(loop.Checker)
	if !ok {
		return loop.FoundUnknown, loop.Result{}, nil
	}
	return tool.Check(ctx, j)
}

func (t *guided) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	result, err := t.Tool.Run(ctx, j, report)
	var in struct{ Path string }
	if err != nil || result.Failed || json.Unmarshal(j.Call.Args, &in) != nil || in.Path == "" {
		return result, err
	}
	if text := t.guide.news(filepath.Clean(in.Path)); text != "" {
		if len(result.Display) == 0 {
			result.Display = slices.Clone(result.Content) // the instructions are for the model
		}
		result.Content = append(slices.Clip(result.Content), loop.Text{Text: "<context>\n" + text + "\n</context>"})
	}
	return result, nil
}
