package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// BenchmarkAppend is what the log adds to each chunk that a model streams. It should stay under 5 µs, and a resume above
// 200,000 records a second.
func BenchmarkAppend(b *testing.B) {
	d, err := OpenDir(b.TempDir(), Options{})
	require.NoError(b, err)
	l, err := d.Create(b.Context(), Info{ID: testID})
	require.NoError(b, err)
	in := said("a few words of text")[0]
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Append(in); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, l.Close())
}

func BenchmarkCreate(b *testing.B) {
	d, err := OpenDir(b.TempDir(), Options{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		l, err := d.Create(b.Context(), Info{ID: NewID(), Cwd: "/w"})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIndexCreated is what the index adds to BenchmarkCreate.
func BenchmarkIndexCreated(b *testing.B) {
	d, err := OpenDir(b.TempDir(), Options{})
	require.NoError(b, err)
	info := Info{ID: testID, Cwd: "/home/someone/src/project", Created: d.opts.now()}
	b.ReportAllocs()
	for b.Loop() {
		d.index.created(info)
	}
}

const manyRecords = 100_000

func BenchmarkLease100k(b *testing.B) {
	dir := b.TempDir()
	file, _ := logOf(b, dir, manyRecords)
	d := openDir(b, dir)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		l, err := d.Lease(b.Context(), testID)
		if err != nil || l.Warnings() != nil {
			b.Fatal(err, l.Warnings())
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, manyRecords)
}

// BenchmarkResume100k is all that a resume does with a long session: it leases it, reads it and folds it.
func BenchmarkResume100k(b *testing.B) {
	dir := b.TempDir()
	logOf(b, dir, manyRecords)
	d := openDir(b, dir)
	for b.Loop() {
		l, err := d.Lease(b.Context(), testID)
		if err != nil {
			b.Fatal(err)
		}
		loop.Replay(func(yield func(loop.Input) bool) {
			for in, err := range d.Inputs(b.Context(), testID, 0) {
				if err != nil || !yield(in) {
					b.Fatal(err)
				}
			}
		})
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, manyRecords)
}

func BenchmarkInputs100k(b *testing.B) {
	dir := b.TempDir()
	file, _ := logOf(b, dir, manyRecords)
	d := openDir(b, dir)
	for name, from := range map[string]int{"all": 0, "last": manyRecords} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range d.Inputs(b.Context(), testID, from) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if want := manyRecords - max(from-1, 0); n != want {
					b.Fatal(n)
				}
			}
			perSecond(b, manyRecords)
		})
	}
}

// BenchmarkInputsFirst reads the first input of a long session, as a title needs it.
func BenchmarkInputsFirst(b *testing.B) {
	dir := b.TempDir()
	logOf(b, dir, manyRecords)
	d := openDir(b, dir)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range d.Inputs(b.Context(), testID, 0) {
			if err != nil {
				b.Fatal(err)
			}
			break
		}
	}
}

// BenchmarkDecode100k is the part of BenchmarkInputs100k that is loop.DecodeInput.
func BenchmarkDecode100k(b *testing.B) {
	kind, body, err := loop.EncodeInput(said("text 77777 {\"n\":1,\"at\":\"")[0])
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		for range manyRecords {
			if _, err := loop.DecodeInput(kind, body); err != nil {
				b.Fatal(err)
			}
		}
	}
	perSecond(b, manyRecords)
}

func perSecond(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkList10k lists the first 50 of 10,000 sessions, of all and of a folder that has few: with the store just
// opened (cold), with the store in use (warm) and without an index (healing).
func BenchmarkList10k(b *testing.B) {
	const many, page = 10_000, 50
	dir := b.TempDir()
	d := openDir(b, dir)
	for i := range many {
		cwd := "/home/someone/src/project-" + fmt.Sprint(i%7)
		if i%1000 == 7 {
			cwd = "/few"
		}
		info := Info{ID: fmt.Sprintf("sess_%026d", i), Cwd: cwd, Created: d.opts.now()}
		line, err := headerLine(info)
		require.NoError(b, err)
		require.NoError(b, os.WriteFile(filepath.Join(d.root.Name(), info.ID+logExt), line, 0o600))
		d.index.created(info)
	}
	list := func(b *testing.B, d *Dir, cwd string, want int) {
		b.Helper()
		got, err := d.List(b.Context(), Filter{Cwd: cwd, Limit: page})
		if err != nil || len(got.Sessions) != want {
			b.Fatal(len(got.Sessions), err)
		}
	}
	for name, cwd := range map[string]string{"all": "", "few": "/few"} {
		want := page
		if cwd != "" {
			want = many / 1000
		}
		b.Run(name+"/warm", func(b *testing.B) {
			b.ReportAllocs()
			list(b, d, cwd, want)
			for b.Loop() {
				list(b, d, cwd, want)
			}
		})
		b.Run(name+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list(b, openDir(b, dir), cwd, want)
			}
		})
		b.Run(name+"/healing", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, d.root.Remove(indexName))
				list(b, openDir(b, dir), cwd, want)
			}
		})
	}
}

// BenchmarkAppendSynced is an append that is on the disk when it returns.
func BenchmarkAppendSynced(b *testing.B) {
	d := openDir(b, b.TempDir())
	l, err := d.Create(b.Context(), Info{ID: testID})
	require.NoError(b, err)
	in := said("a few words of text")[0]
	b.ReportAllocs()
	for b.Loop() {
		if err := errors.Join(l.Append(in), l.Sync()); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, 1)
	require.NoError(b, l.Close())
}

// BenchmarkGroupCommit has sessions of one process append and sync side by side, each records and then one sync.
func BenchmarkGroupCommit(b *testing.B) {
	for _, c := range []struct{ sessions, records int }{{1, 1}, {8, 1}, {64, 1}, {1, 100}, {8, 100}} {
		b.Run(fmt.Sprintf("%d sessions of %d", c.sessions, c.records), func(b *testing.B) {
			d := openDir(b, b.TempDir())
			var logs []Log
			for range c.sessions {
				l, err := d.Create(b.Context(), Info{ID: NewID()})
				require.NoError(b, err)
				logs = append(logs, l)
			}
			in := said("a few words of text")[0]
			errs := make([]error, len(logs))
			for b.Loop() {
				var wg sync.WaitGroup
				for i, l := range logs {
					wg.Go(func() {
						for range c.records {
							errs[i] = errors.Join(errs[i], l.Append(in))
						}
						errs[i] = errors.Join(errs[i], l.Sync())
					})
				}
				wg.Wait()
			}
			require.NoError(b, errors.Join(errs...))
			perSecond(b, c.sessions*c.records)
			for _, l := range logs {
				require.NoError(b, l.Close())
			}
		})
	}
}

// BenchmarkAppendBlob keeps a payload of 1 MiB that was not there before.
func BenchmarkAppendBlob(b *testing.B) {
	d := openDir(b, b.TempDir())
	l, err := d.Create(b.Context(), Info{ID: testID})
	require.NoError(b, err)
	text := bytes.Repeat([]byte("a line of a file\n"), 1<<20/17)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		copy(text, fmt.Sprintf("%016d", n))
		if err := l.Append(said(string(text))...); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, l.Close())
}
