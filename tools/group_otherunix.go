//go:build unix && !linux

package tools

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {} // only Linux can do it
