package session

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock of an open file, if nobody has it. The lock is on one byte far behind the end, since a locked
// byte cannot be read by others. It ends when the file is closed, so at the latest with the process.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// unlock gives the lock back.
func unlock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

// syncFolder has nothing to do: names are durable with their files, and a folder cannot be synced.
func syncFolder(*os.File) error { return nil }

// unlinked is never so: a file that is open keeps its name.
func unlinked(os.FileInfo) bool { return false }

// writtenTo is not known: -1. Here no other can write while one has the lock.
func writtenTo(*os.File) (int64, error) { return -1, nil }
