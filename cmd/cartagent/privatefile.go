package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// linked is the file itself, where the path is a link to it.
func linked(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// replaceFile puts a file in place as a whole, readable by its owner alone from the first byte on. Until it is whole it
// has a name that begins with temp.
func replaceFile(path, temp string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), temp+".*.tmp") // of mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if folder, openErr := os.Open(filepath.Dir(path)); openErr == nil {
		_ = folder.Sync() // the name survives a power failure; not every system can do this for a folder
		_ = folder.Close()
	}
	return nil
}

// patience is how long a command waits for another one that changes the same file.
const patience = 5 * time.Second

// withLock runs change while no other process that asks likewise changes the file at path.
func withLock(ctx context.Context, path string, change func() error) (err error) {
	path = linked(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		got, err := tryLock(file)
		if err != nil {
			return fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		if got {
			return errors.Join(change(), unlock(file))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another cartagent is changing %s; try again when it is done", path)
		case <-again.C:
		}
	}
}
