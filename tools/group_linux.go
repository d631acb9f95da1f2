package tools

import (
	"fmt"
	"os"
	"syscall"
)

func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// enterable is a path of the open folder for a child to begin in: that of the descriptor, since what the folder's own
// path leads to may change until then. Where there is no /proc it is the folder's own.
func enterable(dir *os.File, at place) string {
	path := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	if _, err := os.Stat(path); err != nil {
		return at.real()
	}
	return path
}
