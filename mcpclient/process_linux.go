package mcpclient

import (
	"os/exec"
	"syscall"
)

// setGroup gives the process a group of its own, and has the kernel kill it when this process dies.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
