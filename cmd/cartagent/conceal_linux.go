package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// conceal keeps other processes of the same person, our children above all, from reading the keys in our environment and
// memory: /proc/PID/environ and its like are then root's. A child is as it always was once it runs its own program.
func conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("concealing the environment from other processes: %w", err)
	}
	return nil
}
