package main

import "golang.org/x/sys/unix"

// The calls that read and write a terminal's modes.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
