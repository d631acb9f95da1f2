package cart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

const (
	applicationID = 0x43617274 // "Cart": tells the cart's files from other databases
	schemaVersion = 1

	// A file up to this size is read through when it is opened, which takes a moment. Damage in a larger one shows when it
	// is come upon.
	maxChecked = 64 << 20
)

// The tables. An order's body is all of it; the columns beside it are what is searched for. Once given, a number and a
// key are given for good.
const schema = `
CREATE TABLE orders (
	caller TEXT NOT NULL, handle TEXT NOT NULL,
	started INTEGER NOT NULL, status TEXT NOT NULL, number INTEGER UNIQUE, body TEXT NOT NULL,
	PRIMARY KEY (caller, handle)
) STRICT, WITHOUT ROWID;
CREATE INDEX drafts ON orders (started, caller, handle) WHERE status <> 'placed';
CREATE TABLE keys (
	caller TEXT NOT NULL, key TEXT NOT NULL, handle TEXT NOT NULL,
	PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;`

// dataSource names the file to the driver, whatever characters are in its path. A commit is on the disk when it returns.
func dataSource(path string) string {
	query := url.Values{
		"mode":          {"rw"},
		"_busy_timeout": {fmt.Sprint(busyFor.Milliseconds())},
		"_synchronous":  {"FULL"},
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return u.String()
}

// ready makes sure that the file is a book of the cart's, or makes it one if it is empty. Another's is not changed.
func ready(ctx context.Context, conn *sql.Conn, path string) error {
	if err := found(ctx, conn); err != nil {
		return err
	}
	if err := sound(ctx, conn, path); err != nil {
		return err
	}
	if err := private(path); err != nil {
		return err
	}
	// Readers and a writer do not hold each other up in this mode, and it needs one write to the disk for a commit.
	var mode string
	return conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
}

// sound reads a file through that is not too large for it.
func sound(ctx context.Context, conn *sql.Conn, path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() > maxChecked {
		return err
	}
	var verdict string
	if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, verdict)
	}
	return nil
}

var (
	errForeign = errors.New("another program's")
	errNewer   = errors.New("of a newer cartagent")
)

// found looks at what is in the file, and begins it if there is nothing, in one transaction.
func found(ctx context.Context, conn *sql.Conn) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, undo(ctx, conn))
		}
	}()
	var id, version, tables int
	for query, to := range map[string]*int{
		"PRAGMA application_id": &id, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := conn.QueryRowContext(ctx, query).Scan(to); err != nil {
			return err
		}
	}
	switch {
	case id == applicationID && version > schemaVersion:
		return errNewer
	case id == applicationID && version == schemaVersion:
	case id != 0 || version != 0 || tables != 0:
		return errForeign
	default:
		begin := fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d;", schema, applicationID, schemaVersion)
		if _, err := conn.ExecContext(ctx, begin); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// The result codes of SQLite that a person can do something about.
const (
	sqliteError    = 1
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

// resultCode is SQLite's primary result code in err; 0 where there is none.
func resultCode(err error) int {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		return failure.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool { return resultCode(err) == sqliteBusy }

// isNoTransaction takes the general error for it: it is what ROLLBACK fails with when there is nothing to roll back.
func isNoTransaction(err error) bool { return resultCode(err) == sqliteError }

// explain says what is the matter with the file, and what to do.
func explain(path string, err error) error {
	switch code := resultCode(err); {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%s is a database of another program; name a file of the cart's own", path)
	case errors.Is(err, errNewer):
		return fmt.Errorf("%s was written by a newer cartagent; use that one, or name another file", path)
	case code == sqliteNotADB:
		return fmt.Errorf("%s is not a cart's file (no SQLite database); name another, or move it away", path)
	case code == sqliteCorrupt, errors.Is(err, errDamaged):
		return fmt.Errorf("%s is damaged (%w); restore it from a copy, or move it away to begin anew", path, err)
	case code == sqliteBusy:
		return fmt.Errorf("%s is in use by another program for %s or more; end that, or try again", path, busyFor)
	case code == sqliteFull:
		return fmt.Errorf("the disk of %s is full: %w", path, err)
	case code == sqliteReadOnly:
		return fmt.Errorf("%s cannot be written: %w", path, err)
	case code == sqliteCantOpen:
		return fmt.Errorf("%s cannot be opened: %w", path, err)
	}
	return err
}
