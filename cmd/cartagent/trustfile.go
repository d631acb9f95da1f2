package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// trustFile is where it is kept which files of which projects the person trusts:
// {"folders": {"/real/path": {".mcp.json": "hex SHA-256 of its bytes"}}}.
type trustFile struct{ path string }

const trustName = "trust.json"

func (c *config) trustFile() trustFile { return trustFileIn(c.dir) }

// trustFileIn is the trust file of a configuration folder. Without a folder nothing is trusted and nothing can be.
func trustFileIn(dir string) trustFile {
	if dir == "" {
		return trustFile{}
	}
	return trustFile{filepath.Join(dir, trustName)}
}

// trustedFolders are the sums of trusted files, by the real path of their project's folder and their name in it.
type trustedFolders map[string]map[string]string

// trustState is what the person thinks of a file.
type trustState int

const (
	untrusted trustState = iota
	changed              // other bytes than these were trusted
	trusted
)

func (t trustedFolders) state(f *projectFile) trustState {
	switch t[f.folder][f.name] {
	case "":
		return untrusted
	case f.sum:
		return trusted
	}
	return changed
}

// read returns what is trusted. Where it cannot be relied on, nothing is.
func (t trustFile) read() (trustedFolders, error) {
	if t.path == "" {
		return nil, nil
	}
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", t.path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write %s: look at it, and run `chmod 600` on it", t.path)
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		return nil, err
	}
	var all struct {
		Folders trustedFolders `json:"folders"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): repair it, or delete it and run `cartagent trust` again", t.path, err)
	}
	return all.Folders, nil
}

// change reads what is trusted, changes it and writes it, with no other process in between.
func (t trustFile) change(ctx context.Context, change func(trustedFolders)) error {
	if t.path == "" {
		return errors.New("there is no folder to keep in what is trusted: set HOME or CARTAGENT_CONFIG_DIR")
	}
	err := withLock(ctx, t.path, func() error {
		all, err := t.read()
		if err != nil {
			return err
		}
		if all == nil {
			all = make(trustedFolders)
		}
		change(all)
		maps.DeleteFunc(all, func(_ string, files map[string]string) bool { return len(files) == 0 })
		data, err := json.MarshalIndent(map[string]any{"folders": all}, "", "  ")
		if err != nil {
			return err
		}
		return replaceFile(linked(t.path), trustName, append(data, '\n'))
	})
	if err != nil {
		return fmt.Errorf("keeping what is trusted: %w", err)
	}
	return nil
}

// trust takes in files as they were read.
func (t trustFile) trust(ctx context.Context, files []*projectFile) error {
	return t.change(ctx, func(all trustedFolders) {
		for _, f := range files {
			if all[f.folder] == nil {
				all[f.folder] = make(map[string]string)
			}
			all[f.folder][f.name] = f.sum
		}
	})
}

// revoke forgets folders, and says which it knew.
func (t trustFile) revoke(ctx context.Context, folders []string) (known []string, err error) {
	err = t.change(ctx, func(all trustedFolders) {
		for _, folder := range folders {
			for _, name := range slices.Sorted(maps.Keys(all[folder])) {
				known = append(known, filepath.Join(folder, filepath.FromSlash(name)))
			}
			delete(all, folder)
		}
	})
	return known, err
}
