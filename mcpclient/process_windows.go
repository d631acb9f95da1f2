package mcpclient

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup keeps console events for us from reaching the process.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signalGroup kills the process: there is no polite way, and its children are out of reach.
func signalGroup(p *os.Process, _ bool) { _ = p.Kill() }

// groupAlive says no: there are no groups.
func groupAlive(*os.Process) bool { return false }
