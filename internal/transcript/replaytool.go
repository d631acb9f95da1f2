package transcript

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// ErrNothingRuns is what a tool returns that would run something which no replay runs: the record answers in its place.
var ErrNothingRuns = errors.New("nothing is executed in a replay")

// Tool is one of our own tools in a replay. It runs for real, in the recorded workspace, and its results are held
// against the recorded ones. Where it cannot, because it returns ErrNothingRuns or what it looks at is not inside, the
// record answers.
func (r *Replay) Tool(t loop.Tool) loop.Tool { return &ownTool{t, r} }

// ServerTool is the tool of a server in a replay: the record answers.
func (r *Replay) ServerTool(spec loop.Spec) loop.Tool { return &serverTool{spec, r} }

type ownTool struct {
	loop.Tool
	replay *Replay
}

type serverTool struct {
	spec   loop.Spec
	replay *Replay
}

// Spec implements loop.Tool.
func (t *serverTool) Spec() loop.Spec { return t.spec }

// Preview implements loop.Tool.
func (t *serverTool) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	p, err := t.replay.previewing(c)
	if err != nil {
		return loop.Preview{}, err
	}
	return t.replay.previewed(ctx, c, p)
}

// Run implements loop.Tool.
func (t *serverTool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	run, err := t.replay.running(j)
	if err != nil {
		return loop.Result{}, err
	}
	return t.replay.ran(ctx, j, run, report)
}

// Preview implements loop.Tool.
func (t *ownTool) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	r := t.replay
	if err := r.Prepare(c, false); err != nil {
		return loop.Preview{}, err
	}
	p, err := r.previewing(c)
	if err != nil {
		return loop.Preview{}, err
	}
	if r.unknown(c) {
		return r.previewed(ctx, c, p)
	}
	preview, err := t.Tool.Preview(ctx, c)
	if !r.spine.wait(ctx, r.spine.place(p.At, c.ID, []string{"Previewed"})) {
		return loop.Preview{}, context.Cause(ctx)
	}
	return preview, err
}

// Run implements loop.Tool.
func (t *ownTool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	r := t.replay
	if err := r.Prepare(j.Call, true); err != nil {
		return loop.Result{}, err
	}
	run, err := r.running(j)
	if err != nil {
		return loop.Result{}, err
	}
	if r.unknown(j.Call) {
		return r.ran(ctx, j, run, report)
	}
	result, err := t.Tool.Run(ctx, j, report)
	if errors.Is(err, ErrNothingRuns) {
		return r.ran(ctx, j, run, report)
	}
	if !r.spine.wait(ctx, r.outcome(j, run)) {
		return loop.Result{}, context.Cause(ctx)
	}
	if err == nil && run.Result != nil {
		r.compare(j.Call, "result", *run.Result, counted(result, r.names))
	}
	return result, errors.Join(err, r.where.Lay(run.Left))
}

// unknown says whether the record has to answer for a call of our own tools.
func (r *Replay) unknown(c loop.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.played[c.ID]
	return p != nil && p.call.Unverified != ""
}

// Prepare makes the workspace what the next preview or run of a call found then.
func (r *Replay) Prepare(c loop.Call, run bool) error {
	r.mu.Lock()
	var disk Disk
	var preview *loop.Preview
	if p := r.played[c.ID]; p != nil {
		switch {
		case run && p.runs < len(p.call.Runs):
			disk = p.call.Runs[p.runs].Disk
		case !run && p.previews < len(p.call.Previews):
			disk, preview = p.call.Previews[p.previews].Disk, p.call.Previews[p.previews].Preview
		}
	}
	r.mu.Unlock()
	if preview != nil && len(disk) == 0 {
		if err := r.folders(c, *preview); err != nil {
			return err
		}
	}
	return r.where.Lay(disk)
}

// folders makes the folders that a command's preview shows: it runs in one, of which nothing else may be recorded.
func (r *Replay) folders(c loop.Call, p loop.Preview) error {
	if c.Tool != "terminal" {
		return nil
	}
	for _, l := range p.Locations {
		folder, rel := split(strings.TrimPrefix(l.Path, Workspace+"/"))
		if r.where[folder] == "" || !Nameable(rel) {
			continue
		}
		root, err := os.OpenRoot(r.where[folder])
		if err != nil {
			return err
		}
		if err := errors.Join(root.MkdirAll(filepath.FromSlash(rel), 0o755), root.Close()); err != nil {
			return err
		}
	}
	return nil
}

var errNotRecorded = errors.New("the recording does not have this call")

// previewing is the next recorded preview of a call, with the workspace made what it was.
func (r *Replay) previewing(c loop.Call) (Previewing, error) {
	r.mu.Lock()
	p := r.played[c.ID]
	var out *Previewing
	if p != nil && p.previews < len(p.call.Previews) {
		out = &p.call.Previews[p.previews]
		p.previews++
	}
	r.mu.Unlock()
	if out == nil {
		r.differ("tool call %s %s: not recorded, now it is previewed with %s", c.ID, c.Tool, show(r.names.Count(c.Args)))
		return Previewing{}, errNotRecorded
	}
	if p.call.Tool != c.Tool {
		r.differ("tool call %s: recorded %s, now %s", c.ID, show(p.call.Tool), show(c.Tool))
	}
	if d := Difference(out.Args, r.names.Count(c.Args)); d != "" {
		r.differ("tool call %s %s, arguments, %s", c.ID, c.Tool, d)
	}
	return *out, nil
}

// previewed answers with a recorded preview.
func (r *Replay) previewed(ctx context.Context, c loop.Call, p Previewing) (loop.Preview, error) {
	if !r.spine.wait(ctx, r.spine.place(p.At, c.ID, []string{"Previewed"})) {
		return loop.Preview{}, context.Cause(ctx)
	}
	if p.Preview == nil {
		return loop.Preview{}, errors.New(r.names.RealText(p.Failure))
	}
	return realOf[loop.Preview](r, p.Preview)
}

// running is the next recorded run of a call, with the workspace made what it was.
func (r *Replay) running(j loop.Job) (Running, error) {
	c := j.Call
	r.mu.Lock()
	p := r.played[c.ID]
	var out *Running
	if p != nil && p.runs < len(p.call.Runs) {
		out = &p.call.Runs[p.runs]
		p.runs++
	}
	r.mu.Unlock()
	now := counted(jobOf(j), r.names)
	if out == nil {
		r.differ("tool call %s %s: not recorded, now it runs with %s", c.ID, c.Tool, show(now))
		return Running{}, errNotRecorded
	}
	r.compare(c, "", out.Job, now)
	return *out, nil
}

// compare holds a part of a call against the recorded one.
func (r *Replay) compare(c loop.Call, part string, recorded, now any) {
	a, err := encode(recorded)
	if err != nil {
		return
	}
	b, err := encode(now)
	if err != nil {
		r.differ("tool call %s %s: %v", c.ID, c.Tool, err)
		return
	}
	if d := Difference(a, b); d != "" {
		if part != "" {
			part = ", " + part + ","
		}
		r.differ("tool call %s %s%s %s", c.ID, c.Tool, part, d)
	}
}

// outcome is the place of what comes of a run.
func (r *Replay) outcome(j loop.Job, run Running) int {
	return r.spine.place(run.At, j.Call.ID, []string{"Finished", "Asked"}, "Prompted")
}

// ran answers with a recorded run.
func (r *Replay) ran(ctx context.Context, j loop.Job, run Running, report func(loop.Block)) (loop.Result, error) {
	place := run.At - 1
	for _, part := range run.Progress {
		blocks, err := realOf[loop.Blocks](r, part)
		if err != nil {
			return loop.Result{}, err
		}
		next := r.spine.place(place+1, j.Call.ID, []string{"Progressed"}, "Prompted")
		if next < 0 {
			break // nobody was told any more
		}
		place = next
		if !r.spine.wait(ctx, place) {
			return loop.Result{}, context.Cause(ctx)
		}
		for _, b := range blocks {
			report(b)
		}
	}
	if err := r.where.Lay(run.Left); err != nil {
		return loop.Result{}, err
	}
	if run.Result == nil && run.Question == nil && run.Failure == "" {
		<-ctx.Done() // it was still running when nobody waited any more
		return loop.Result{}, context.Cause(ctx)
	}
	if !r.spine.wait(ctx, r.outcome(j, run)) {
		return loop.Result{}, context.Cause(ctx)
	}
	switch {
	case run.Question != nil:
		q, err := realOf[loop.Question](r, run.Question)
		if err != nil {
			return loop.Result{}, err
		}
		return loop.Result{}, &loop.NeedsAnswer{Question: q}
	case run.Result != nil:
		return realOf[loop.Result](r, run.Result)
	}
	return loop.Result{}, errors.New(r.names.RealText(run.Failure))
}
