package session

import (
	"io"

	"github.com/cartagent/cartagent/loop"
)

// forks tells records of a writer that had lost the session from damage: such a record follows, by its hash, from one
// that another writer's record of the same number had followed before. So the chain is what an epoch is elsewhere: the
// first record that is added to an end makes all others stale that were meant for it.
type forks struct {
	file   io.ReaderAt // the log once more; nil: no record that is not among the recent ones is found to be stale
	recent []chain     // the records that were read last, each where its number has its place
	stale  chain       // where the records that are left out have come to
	tries  int         // searches so far
}

const (
	maxRecent   = 1 << 10 // writers meet within moments
	maxSearches = 8       // bounds how often a damaged file is read anew
)

// add notes a record that was read; number 0 is the header.
func (f *forks) add(c chain) {
	place := c.n % maxRecent
	for len(f.recent) <= place {
		f.recent = append(f.recent, chain{n: -1})
	}
	f.recent[place] = c
}

// at is the record of that number, if it is still known.
func (f *forks) at(n int) (chain, bool) {
	place := n % maxRecent
	if n < 0 || place >= len(f.recent) {
		return chain{}, false
	}
	return f.recent[place], f.recent[place].n == n
}

// stale says whether the record is such a one.
func (s *scanner) stale(r *record) bool {
	f := &s.forks
	switch {
	case f.stale.hash != "" && r.N == f.stale.n+1 && r.fits(f.stale.hash):
	case r.N > s.last.n || r.Hash == s.last.hash:
		return false
	default:
		before, known := f.at(r.N - 1)
		if other, both := f.at(r.N); known && both {
			if other.hash == r.Hash || !r.fits(before.hash) {
				return false
			}
			break
		}
		if f.file == nil || f.tries == maxSearches {
			return false
		}
		f.tries++
		if !follows(r, newScanner(s.id, io.NewSectionReader(f.file, 0, s.off))) {
			return false
		}
	}
	f.stale = chain{n: r.N, hash: r.Hash}
	return true
}

// follows says whether r follows from a record before, one that another record of its number has followed.
func follows(r *record, before *scanner) bool {
	found := false
	last := chain{n: -1}
	before.forks.file = nil
	before.from = r.N - 1
	before.visit = func(other *record, _ loop.Input) bool {
		if other.N == 1 && last.n < 0 {
			last = chain{hash: sumOf(before.head)}
		}
		found = other.N == r.N && last.n == r.N-1 && other.Hash != r.Hash && r.fits(last.hash)
		last = chain{n: other.N, hash: other.Hash}
		return !found
	}
	return before.run() == nil && found
}
