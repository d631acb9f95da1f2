//go:build !linux

package session

import "os"

// syncData returns when a file's content is on the disk.
func syncData(f *os.File) error { return f.Sync() }
