package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"
)

// openIn opens a file of a folder to read.
func openIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.OpenFile(name, os.O_RDONLY|nonblock, 0) // a pipe in its place must not hold us up
}

// in makes the store's folder, if need be, and does something in it.
func (s *Store) in(do func(*os.Root) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(s.dir); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(s.dir, 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return do(root)
}

const temporary = ".tmp"

// replace puts a file in place as a whole, readable by its owner alone from the first byte on.
func replace(root *os.Root, name string, data []byte) error {
	temp := name + "." + rand.Text()[:8] + temporary
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if folder, openErr := root.Open("."); openErr == nil {
		_ = folder.Sync() // the name survives a power failure; not every system can do this for a folder
		_ = folder.Close()
	}
	return nil
}

// removeTemporary removes what a crash in the middle of a write has left.
func removeTemporary(root *os.Root, name string) error {
	files, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		if strings.HasPrefix(f.Name(), name+".") && strings.HasSuffix(f.Name(), temporary) {
			errs = append(errs, root.Remove(f.Name()))
		}
	}
	return errors.Join(errs...)
}

// lock takes the lock of a server's credentials, which holds between goroutines and between processes, and waits for
// it as long as ctx lasts. Whoever changes them has it.
func (s *Store) lock(ctx context.Context, server string) (unlock func(), err error) {
	if s.dir == "" {
		s.mu.Lock()
		place, ok := s.held[server]
		if !ok {
			place = make(chan struct{}, 1)
			s.held[server] = place
		}
		s.mu.Unlock()
		select {
		case place <- struct{}{}:
			return func() { <-place }, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return s.lockFile(ctx, strings.TrimSuffix(fileFor(server), ".json")+".lock", func() {})
}

// consent takes the lock of who has a person sign in at a server, between processes, and waits for it as long as ctx lasts.
// taken is called when another process has it. Within a process there is one flight for all.
func (s *Store) consent(ctx context.Context, server string, taken func()) (unlock func(), err error) {
	if s.dir == "" {
		return func() {}, nil
	}
	return s.lockFile(ctx, strings.TrimSuffix(fileFor(server), ".json")+".consent.lock", taken)
}

// lockFile takes the lock of a file. The file stays: removing it would let two have the lock. taken is called when somebody
// has it.
func (s *Store) lockFile(ctx context.Context, name string, taken func()) (unlock func(), err error) {
	var file *os.File
	err = s.in(func(root *os.Root) error {
		file, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	wait := 5 * time.Millisecond
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		got, err := tryLock(file)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if got {
			return func() { _ = errors.Join(release(file), file.Close()) }, nil
		}
		taken()
		taken = func() {}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-timer.C:
			wait = min(2*wait, 200*time.Millisecond)
			timer.Reset(wait)
		}
	}
}
