package cart

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
)

// BenchmarkHTTP has so many callers start an order at the same moment, each over a connection of its own. One operation
// is all of them.
func BenchmarkHTTP(b *testing.B) {
	const callers = 1000
	for _, kept := range []string{"memory", "file"} {
		b.Run(fmt.Sprintf("%s/%d", kept, callers), func(b *testing.B) {
			var book Book = &Memory{}
			if kept == "file" {
				file, err := OpenFile(b.Context(), filepath.Join(b.TempDir(), "orders.db"))
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = file.Close() }()
				book = file
			}
			server := httptest.NewServer(NewHandler(Options{Book: book}, HTTPOptions{}))
			defer server.Close()
			transport := &http.Transport{MaxIdleConnsPerHost: callers}
			defer transport.CloseIdleConnections()
			message := []byte(modern(1, "tools/call", `"name":"create_order"`, "{}"))
			start := func() error {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+endpoint, bytes.NewReader(message))
				if err != nil {
					return err
				}
				r.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"*/*"},
					"Mcp-Protocol-Version": {Version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"create_order"},
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					return err
				}
				defer func() { _ = resp.Body.Close() }()
				if resp.StatusCode != http.StatusOK {
					return fmt.Errorf("status %d", resp.StatusCode)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			}
			b.ReportAllocs()
			for b.Loop() {
				var wg sync.WaitGroup
				errs := make(chan error, callers)
				for range callers {
					wg.Go(func() {
						if err := start(); err != nil {
							errs <- err
						}
					})
				}
				wg.Wait()
				if len(errs) > 0 {
					b.Fatal(<-errs)
				}
			}
			b.ReportMetric(float64(b.N*callers)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkFile is one order at a time, each on the disk before the next, among many that are there.
func BenchmarkFile(b *testing.B) {
	for _, held := range []int{0, 20_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			file, err := OpenFile(b.Context(), filepath.Join(b.TempDir(), "orders.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			create := parse([]byte(modern(1, "tools/call", `"name":"create_order"`, "{}")))
			var wg sync.WaitGroup
			for i := range held {
				wg.Go(func() {
					_, _ = file.take(b.Context(), create, Env{Caller: "ada", Now: start, Handle: fmt.Sprint("held ", i)})
				})
			}
			wg.Wait()
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				reply, err := file.take(b.Context(), create, Env{Caller: "ada", Now: start, Handle: fmt.Sprint("new ", n)})
				if err != nil || reply.Error != nil {
					b.Fatal(err, reply.Error)
				}
			}
		})
	}
}
