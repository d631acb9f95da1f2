//go:build unix

package mcpclient

import (
	"os"
	"syscall"
)

// signalGroup asks the process's group to end, or kills it. A group that is gone is no error.
func signalGroup(p *os.Process, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig)
}

// groupAlive says whether the process's group has members.
func groupAlive(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }
