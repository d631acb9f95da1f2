//go:build unix && !solaris && !illumos && !aix

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// hideInput keeps a terminal from showing what is typed, and returns what undoes that. Keys that interrupt still do,
// and what was typed before is kept.
func hideInput(tty *os.File) (undo func() error, err error) {
	fd := int(tty.Fd())
	shown, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("reading the terminal's modes: %w", err)
	}
	hidden := *shown
	hidden.Lflag &^= unix.ECHO | unix.ECHONL
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, fmt.Errorf("setting the terminal's modes: %w", err)
	}
	return func() error { return unix.IoctlSetTermios(fd, setTermios, shown) }, nil
}
