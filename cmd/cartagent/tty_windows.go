package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// hideInput keeps a console from showing what is typed, and returns what undoes that.
func hideInput(tty *os.File) (undo func() error, err error) {
	console := windows.Handle(tty.Fd())
	var shown uint32
	if err := windows.GetConsoleMode(console, &shown); err != nil {
		return nil, fmt.Errorf("reading the console's mode: %w", err)
	}
	hidden := shown&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(console, hidden); err != nil {
		return nil, fmt.Errorf("setting the console's mode: %w", err)
	}
	return func() error { return windows.SetConsoleMode(console, shown) }, nil
}
