package tools

import (
	"os"
	"slices"
	"strings"
)

// Guard keeps rules and modes from letting a tool change files, and folders with all that is in them, wherever they lie and
// by whatever name they are reached: they decide what may run. A person is asked each time. paths gives them anew for each
// look; those that are not there are left out. Git's own folders are guarded without being named. It is called before the
// workspace is used.
func (w *Workspace) Guard(paths func() []string) {
	for i := range w.roots {
		w.roots[i].guarded = paths
	}
}

// caution says why no rule can allow a change of the place; empty where one can.
func (p place) caution() string {
	if slices.ContainsFunc(strings.Split(p.real(), string(os.PathSeparator)), func(name string) bool { return strings.EqualFold(name, ".git") }) {
		return "it is git's own, and can decide what git runs"
	}
	if p.root.guarded == nil {
		return ""
	}
	var steering nodes
	for _, name := range p.root.guarded() {
		if info, err := os.Stat(name); err == nil {
			steering = append(steering, info)
		}
	}
	if steering.hold(p) {
		return "it can decide what cartagent allows and runs"
	}
	return ""
}
