//go:build unix

package oauth

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

// tryLock takes the lock of an open file, if nobody has it. The lock ends at the latest with the process.
func tryLock(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// release gives the lock back. Closing the file would not be enough while a child that is just being started holds a
// copy of it.
func release(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var got error
	err = conn.Control(func(fd uintptr) {
		for {
			if got = unix.Flock(int(fd), how); !errors.Is(got, unix.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, got)
}
