package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// blobsExt is how the folder of a session's blobs is named behind the id. A blob's name is the hex SHA-256 of what it holds.
const blobsExt = ".blobs"

// tempExt is behind the names of files that are not whole yet.
const tempExt = ".tmp"

// blobs are those of one session.
type blobs struct {
	root *os.Root
	id   string
}

func (b blobs) folder() string { return b.id + blobsExt }

// save puts payloads on the disk, names included, before the record that names them can be.
func (b blobs) save(payloads []payload) error {
	if len(payloads) == 0 {
		return nil
	}
	doing := "keeping a large payload of session " + b.id
	err := b.root.Mkdir(b.folder(), 0o700)
	switch {
	case err == nil:
		err = syncNames(b.root, ".")
	case errors.Is(err, fs.ErrExist):
		err = nil
	}
	if err != nil {
		return storage(doing, err)
	}
	for _, p := range payloads {
		if _, err := b.load(p.sum); err == nil {
			continue // what is there is whole
		}
		if err := b.write(p); err != nil {
			return storage(doing, err)
		}
	}
	if err := syncNames(b.root, b.folder()); err != nil {
		return storage(doing, err)
	}
	return nil
}

// write puts a blob in its place as a whole.
func (b blobs) write(p payload) error {
	temp := b.folder() + "/" + rand.Text() + tempExt
	f, err := b.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(p.data)
	if err == nil {
		err = syncData(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = b.root.Rename(temp, b.folder()+"/"+p.sum)
	}
	if err != nil {
		return errors.Join(err, b.root.Remove(temp))
	}
	return nil
}

// load reads a blob and checks that it is what its name says. The error is for people.
func (b blobs) load(sum string) ([]byte, error) {
	name := b.folder() + "/" + sum
	fi, err := b.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the blob %s is missing", name)
	case err != nil:
		return nil, fmt.Errorf("the blob %s cannot be read: %w", name, err)
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("the blob %s is no file", name)
	}
	data, err := b.root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the blob %s cannot be read: %w", name, err)
	}
	if !fitsSum(data, sum) {
		return nil, fmt.Errorf("the blob %s is damaged: it is not what its name says", name)
	}
	return data, nil
}

func fitsSum(data []byte, sum string) bool {
	is := sha256.Sum256(data)
	return hex.EncodeToString(is[:]) == sum
}

// sweep removes what no record of a whole log names: a crash came between a blob and its record. Only who holds the session may do so.
// What cannot be removed now is removed another time.
func (b blobs) sweep(names map[string]bool) {
	dir, err := b.root.Open(b.folder())
	if err != nil {
		return
	}
	left, err := dir.Readdirnames(-1)
	_ = dir.Close() // it was only read
	if err != nil {
		return
	}
	kept := 0
	for _, name := range left {
		if names[name] || b.root.Remove(b.folder()+"/"+name) != nil {
			kept++
		}
	}
	if kept == 0 {
		_ = b.root.Remove(b.folder())
	}
}

// syncNames makes the names in a folder durable.
func syncNames(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(dir), dir.Close())
}

// strayAge is how long something must have been there before Sweep takes it for left behind.
const strayAge = time.Hour

// Sweep removes what crashes have left: blobs, notes and halves of imports whose session is not there, and says how many.
// Blobs of sessions that are there go when they are next leased.
func (d *Dir) Sweep(ctx context.Context) (int, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return 0, storage("reading the sessions' folder", err)
	}
	entries, err := dir.ReadDir(-1)
	if err = errors.Join(err, dir.Close()); err != nil && !errors.Is(err, io.EOF) {
		return 0, storage("reading the sessions' folder", err)
	}
	swept := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		if !d.stray(e) {
			continue
		}
		if err := d.root.RemoveAll(e.Name()); err != nil {
			return swept, storage("removing "+e.Name(), err)
		}
		swept++
	}
	return swept, nil
}

func (d *Dir) stray(e fs.DirEntry) bool {
	id, ext, ok := strings.Cut(strings.TrimPrefix(e.Name(), "."), ".")
	if !ok || !validID(id) {
		return false
	}
	ext, _, _ = strings.Cut("."+ext, "-")
	if ext != blobsExt && ext != lockExt && ext != importExt {
		return false
	}
	if _, err := d.root.Lstat(id + logExt); ext != importExt && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	fi, err := e.Info()
	return err == nil && d.opts.now().Sub(fi.ModTime()) > strayAge
}
