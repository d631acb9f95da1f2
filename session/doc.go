// Package session keeps the inputs of sessions: append-only logs, one writer each.
//
// A Store creates, leases, reads, lists and deletes logs; Dir keeps them in a folder and Mem in memory. The interface
// asks for nothing that a database on another machine could not give.
//
// On disk a session is one file, sessions/ID.jsonl (0600, in folders of 0700). Its first line is
//
//	{"cartagent":1,"session":"ID","cwd":"…","created":"RFC 3339"}
//
// and each line after it is one record:
//
//	{"n":1,"at":"…","kind":"Prompted","body":{…},"hash":"…"}
//
// The hash is the hex SHA-256 of five lines, each ended by a newline: the hash of the record before (for the first
// record the hex SHA-256 of the header line's bytes, its newline left out), n, at, kind, and the hex SHA-256 of the
// body's bytes as written.
//
// A payload of more than 64 KiB, be it a text, the bytes of a picture, or arguments or a result that are large as a whole,
// is not in the body: a marker names it there, and it is sessions/ID.blobs/SUM, SUM being its hex SHA-256 (see payload.go).
// A blob is on the disk before the record that names it. Readers put it back; one that is gone or damaged is a warning, and
// what stands in its place is a text that says so. What no record names, since a crash came between the two, is removed by
// the next Lease. Delete removes all.
//
// An export (export.go) is the log's own lines, where a record may have two fields more: "blobs", with the base64 of those
// that it is the first to name, and with a null body beside "body_sha256" an "outline", which nothing proves.
//
// What a reader does about damage:
//
//	what                                   | read as                 | at the next append
//	---------------------------------------|-------------------------|-----------------------------------
//	a last line that is torn               | not there, a warning    | cut off first
//	a whole last record without a newline  | a record                | the newline is written first
//	a line that is no record               | not there, a warning    | left alone
//	records glued together on one line     | records, a warning      | left alone
//	records that are there twice           | once, a warning         | left alone
//	a record of unknown kind               | loop.Unknown            | left alone
//	a hash or a number that does not fit   | a record, a warning     | left alone
//	records of a writer that had lost it   | not there, a warning    | left alone
//	a line longer than 256 MiB             | not there, a warning    | left alone
//	a blob that is gone or damaged         | a text, a warning       | written anew if it comes again
//	a blob that no record names            | not there               | removed, if nothing else is damaged
//
// A log is never rewritten, only added to and, at its torn end, cut. The package must not decide what inputs mean;
// it knows loop.EncodeInput and loop.DecodeInput and no input by name.
//
// List reads the folder and the times of the files that fit; which folder a session is of it knows from a file beside
// the logs, .index (0600), a cache that any process may lose, damage or remove. A page that is limited is held against
// the headers of its logs. Reading checks that a record is one; whether the hashes fit is checked by Lease.
//
// A lease is a lock on the log and a token in ID.lock, held against it at each append (see fence.go): who has lost the
// lease gets ErrLost. The epoch in the log is its length and its chain: an append counts only where it begins at the end
// that its holder knew, which the holder checks when it has written and before anybody acts on it, and a reader leaves out
// what follows from a record that another one has followed (fork.go). A record of its own for the epoch would say no more:
// it could come between a check and a write as well, and a lease that only reads would have to write. A database on another machine does the same with what it has: Lease adds one to a session's epoch,
// unless its holder has renewed a deadline; Append inserts rows of (session, n) where the epoch is still its own, in one
// transaction, so that a stale holder inserts nothing and two of the same n cannot be; Sync has nothing left to do.
package session
