//go:build unix

package tools

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// ownGroup puts the command into a process group of its own. On Linux the shell is also killed when this process dies
// without a chance to clean up; its children then live on.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func termGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // gone already is as good

func groupAlive(pid int) bool { return syscall.Kill(-pid, 0) == nil }

func signalOf(s *os.ProcessState) string {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}

// leave remembers a process group that outlives its command, so that Close can end it, and forgets those that ended.
// A process that has made a session of its own (setsid) is out of reach.
func (w *Workspace) leave(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = append(slices.DeleteFunc(w.left, func(p int) bool { return !groupAlive(p) }), pid)
}

func (w *Workspace) endLeftovers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pid := range w.left {
		killGroup(pid)
	}
	w.left = nil
}
