//go:build !unix

package tools

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func termGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func killGroup(int) {}

func groupAlive(int) bool { return false }

func signalOf(*os.ProcessState) string { return "" }

func (w *Workspace) leave(int) {}

func (w *Workspace) endLeftovers() { w.left = nil }
