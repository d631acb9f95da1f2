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
// What a reader does about damage:
//
//	what                                   | read as                 | at the next append
//	---------------------------------------|-------------------------|-----------------------------------
//	a last line that is torn               | not there, a warning    | cut off first
//	a whole last record without a newline  | a record                | the newline is written first
//	a line that is no record               | not there, a warning    | left alone
//	records glued together on one line     | records, a warning      | left alone
//	a record of unknown kind               | loop.Unknown            | left alone
//	a hash or a number that does not fit   | a record, a warning     | left alone
//
// A log is never rewritten, only added to and, at its torn end, cut. The package must not decide what inputs mean;
// it knows loop.EncodeInput and loop.DecodeInput and no input by name.
//
// List reads the folder and the times of the files that fit; which folder a session is of it knows from a file beside
// the logs, .index (0600), a cache that any process may lose, damage or remove. A page that is limited is held against
// the headers of its logs. Reading checks that a record is one; whether the hashes fit is checked by Lease.
//
// Limits of this version: payloads of any size stay in their record (there are no blobs yet), nothing but Lease
// reports damage, and a lease is not fenced against a file system that loses locks.
package session
