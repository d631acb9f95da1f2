package session

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData returns when a file's content is on the disk. Its times may be not, which spares a write.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var got error
	if err := conn.Control(func(fd uintptr) {
		for {
			if got = unix.Fdatasync(int(fd)); !errors.Is(got, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	return got
}
