package tools

import (
	"context"

	"github.com/cartagent/cartagent/loop"
)

// landed says whether a file became what was to be written. A file is written at once or not at all: as it was shown, it
// is untouched; with another content than those two, somebody else has changed it, before or after.
// What it has left beside the file is taken away.
func (k *kit) landed(ctx context.Context, name string, j loop.Job, wanted string) (loop.Finding, loop.Result, error) {
	shown := j.Preview
	p, err := k.ws.locate(name)
	if err != nil {
		return loop.FoundUnknown, loop.Result{}, err
	}
	defer k.ws.locks.lock(p.real())()
	d, err := k.document(ctx, name)
	if err != nil {
		return loop.FoundUnknown, loop.Result{}, err
	}
	if err := sameTarget(name, d.place, shown); err != nil {
		return loop.FoundUnknown, loop.Result{}, err
	}
	d.place.tidy(j.Key)
	switch {
	case d.found && d.sum == sumOf([]byte(wanted)):
		k.seen.saw(d.place, d.sum)
		said := "The turn was interrupted while this ran, but it was done: " + k.shown(d.place) + " has the content that was to be written."
		return loop.FoundDone, loop.Result{Content: text(said), Display: shown.Display}, nil
	case d.unchanged(name, shown) == nil:
		return loop.FoundUndone, loop.Result{}, nil
	}
	return loop.FoundUnknown, loop.Result{}, nil
}
