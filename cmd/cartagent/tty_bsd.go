//go:build unix && !linux && !solaris && !illumos && !aix

package main

import "golang.org/x/sys/unix"

// The calls that read and write a terminal's modes.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
