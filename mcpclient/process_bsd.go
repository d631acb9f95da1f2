//go:build unix && !linux

package mcpclient

import (
	"os/exec"
	"syscall"
)

// setGroup gives the process a group of its own.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
