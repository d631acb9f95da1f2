//go:build unix

package session

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of an open file, if nobody has it. The lock ends at the latest with the process.
func tryLock(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock gives the lock back. Closing the file would not be enough: a child that another goroutine is just starting
// holds a copy of it until its program begins.
func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var got error
	if err := conn.Control(func(fd uintptr) {
		for {
			if got = unix.Flock(int(fd), how); !errors.Is(got, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	return got
}

// syncFolder returns when the names in an open folder are on the disk.
func syncFolder(dir *os.File) error { return dir.Sync() }

// writtenTo is where the last write to a file that is open for appending has ended.
func writtenTo(f *os.File) (int64, error) { return f.Seek(0, io.SeekCurrent) }

// unlinked says whether an open file has no name any more.
func unlinked(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
