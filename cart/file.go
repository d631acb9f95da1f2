package cart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	busyFor  = 10 * time.Second // how long another cart may hold the file
	maxBatch = 256              // messages that share a transaction
	maxConns = 5                // the writer's, and those that look
)

// File is a book in an SQLite file. What it has kept survives the process and the machine; several carts may share one
// file, and no two of their orders get the same number.
//
// Messages that wait at the same time share a transaction, so that one write to the disk is enough for all of them. Each
// is answered from the orders that it can touch and no others, and what it changed is written as a few rows.
type File struct {
	path  string
	db    *sql.DB
	look  *statements    // outside of any transaction
	turns chan *fileTurn // to the one goroutine that writes
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

// A fileTurn is a message that may change something, on its way to the writer.
type fileTurn struct {
	req   request
	env   Env
	gone  func() error // why nobody waits for the answer any more
	reply Reply
	err   error
	done  chan struct{}
}

// OpenFile opens the book in an SQLite file, or begins it, and closes it to all but its owner. The error says what is the
// matter with a file that is no such book or is damaged; such a one stays as it was. Close it when no message is on its way any more.
func OpenFile(ctx context.Context, path string) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the orders: %w", err)
	}
	if err := create(abs); err != nil {
		return nil, fmt.Errorf("opening the orders: %w", err)
	}
	db, err := sql.Open("sqlite", dataSource(abs))
	if err != nil {
		return nil, fmt.Errorf("opening the orders: %w", explain(path, err))
	}
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	f := &File{path: path, db: db, turns: make(chan *fileTurn)}
	if err := f.begin(ctx); err != nil {
		return nil, fmt.Errorf("opening the orders: %w", errors.Join(explain(path, err), db.Close()))
	}
	return f, nil
}

// create makes the file, for its owner alone, if it is not there. It never opens one that is: closing it again would take
// this process's locks on it away.
func create(path string) error {
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return made.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

// private closes the file to others, and what SQLite keeps beside it.
func private(path string) error {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(name, info.Mode().Perm()&0o700); err != nil {
			return err
		}
	}
	return nil
}

// begin makes sure of the file's contents, and starts the writer.
func (f *File) begin(ctx context.Context) error {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := ready(ctx, conn, f.path); err != nil {
		return errors.Join(err, conn.Close())
	}
	if f.look, err = prepare(ctx, f.db); err != nil {
		return errors.Join(err, conn.Close())
	}
	write, err := prepare(ctx, conn)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	f.wg.Go(func() {
		f.write(life, conn, write)
		write.close()
		_ = conn.Close() // back to the pool, which Close ends
	})
	return nil
}

// Close ends the book. Everything that was answered is in it.
func (f *File) Close() error {
	f.stop()
	f.wg.Wait()
	f.look.close()
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("closing the orders: %w", explain(f.path, err))
	}
	return nil
}

func (f *File) take(ctx context.Context, req request, env Env) (Reply, error) {
	reach := req.reach(env)
	if reach.nothing() {
		_, reply := req.handle(Store{}, env)
		return reply, nil
	}
	if !reach.writes {
		store, err := f.look.load(ctx, reach)
		if err != nil {
			return f.refused(req, err)
		}
		_, reply := req.handle(store, env)
		return reply, nil
	}
	t := &fileTurn{req: req, env: env, gone: ctx.Err, done: make(chan struct{})}
	select {
	case f.turns <- t:
	case <-ctx.Done():
		return f.refused(req, ctx.Err())
	}
	select {
	case <-t.done:
	case <-ctx.Done(): // the writer sees it too, or has answered already
		return f.refused(req, ctx.Err())
	}
	if t.err != nil {
		return f.refused(req, t.err)
	}
	return t.reply, nil
}

// refused is what becomes of a message that could not be handled.
func (f *File) refused(req request, err error) (Reply, error) {
	why := "The orders could not be read or written; nothing was done. The cart's log says why"
	switch {
	case isBusy(err):
		why = "The orders are in use by another program; nothing was done, try again"
	case errors.Is(err, context.Canceled):
		why = "The request was cancelled"
	}
	return req.unkept(why), fmt.Errorf("keeping the orders: %w", explain(f.path, err))
}

// write handles messages until ctx ends: those that wait at the same time in one transaction.
func (f *File) write(ctx context.Context, conn *sql.Conn, s *statements) {
	for {
		var batch []*fileTurn
		select {
		case <-ctx.Done():
			return
		case t := <-f.turns:
			batch = append(batch, t)
		}
		err := f.transact(ctx, conn, s, &batch)
		for _, t := range batch {
			if t.err == nil {
				t.err = err
			}
			close(t.done)
		}
	}
}

// transact handles the batch, and whatever else waits once the file is this cart's to write.
func (f *File) transact(ctx context.Context, conn *sql.Conn, s *statements, batch *[]*fileTurn) error {
	ctx, stop := context.WithTimeout(ctx, 2*busyFor)
	defer stop()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for len(*batch) < maxBatch {
		select {
		case t := <-f.turns:
			*batch = append(*batch, t)
			continue
		default:
		}
		break
	}
	for _, t := range *batch {
		if t.err = t.gone(); t.err != nil {
			continue
		}
		if err := apart(ctx, conn, s, t); err != nil {
			return errors.Join(err, undo(ctx, conn))
		}
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(err, undo(ctx, conn))
	}
	return nil
}

// apart handles one message so that its failure is its own, and does not undo those before it. The error is for all.
func apart(ctx context.Context, conn *sql.Conn, s *statements, t *fileTurn) error {
	if _, err := conn.ExecContext(ctx, "SAVEPOINT message"); err != nil {
		return err
	}
	if t.err = s.handle(ctx, t); t.err != nil {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK TO message"); err != nil {
			return errors.Join(t.err, err) // SQLite has given the transaction up, as it does when the disk fails
		}
	}
	_, err := conn.ExecContext(ctx, "RELEASE message")
	return err
}

// undo ends the transaction as if it had not been. SQLite has done so by itself after some errors.
func undo(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if isNoTransaction(err) {
		return nil
	}
	return err
}
