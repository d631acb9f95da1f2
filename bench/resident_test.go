package bench_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process is at rest when it has used no processor time for calm; one that finds no rest within restless is a failure.
const (
	look     = 20 * time.Millisecond
	calm     = 300 * time.Millisecond
	restless = 20 * time.Second
)

func needProc(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skipf("resident memory is read from /proc/PID/status, which %s does not have", runtime.GOOS)
	}
}

// memory is what a process holds, in MB of 1024 kB.
type memory struct {
	resident  float64
	anonymous float64 // the part of it that is no file: without the pages of the binary itself
}

// memoryAtRest waits until the process is at rest and returns its memory then.
func (a *agent) memoryAtRest() memory {
	a.tb.Helper()
	held, err := memoryAtRest(a.cmd.Process.Pid)
	if err != nil {
		a.fail(err)
	}
	return held
}

func memoryAtRest(pid int) (memory, error) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	used, since := "", time.Now()
	for begin := since; ; {
		now, err := processorTime(pid)
		if err != nil {
			return memory{}, err
		}
		switch {
		case now != used:
			used, since = now, time.Now()
		case time.Since(since) >= calm:
			return memoryOf(pid)
		case time.Since(begin) >= restless:
			return memory{}, fmt.Errorf("the process was still busy after %v without a request", restless)
		}
		<-ticks.C
	}
}

// processorTime is the nanoseconds that the threads of pid have run, thread by thread, as text to compare.
func processorTime(pid int) (string, error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return "", fmt.Errorf("listing the threads: %w", err)
	}
	var all strings.Builder
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended
		}
		if err != nil {
			return "", fmt.Errorf("reading the time of a thread: %w", err)
		}
		ran, _, _ := strings.Cut(string(text), " ")
		fmt.Fprintln(&all, thread.Name(), ran)
	}
	return all.String(), nil
}

func memoryOf(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, fmt.Errorf("reading the memory of the process: %w", err)
	}
	resident, err1 := megabytes(string(text), "VmRSS")
	anonymous, err2 := megabytes(string(text), "RssAnon")
	return memory{resident: resident, anonymous: anonymous}, errors.Join(err1, err2)
}

// megabytes reads one line of /proc/PID/status, such as "VmRSS:	    8192 kB".
func megabytes(status, key string) (float64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, key+":")
		if !found {
			continue
		}
		kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
		if err != nil {
			return 0, fmt.Errorf("reading %s of the process: %w", key, err)
		}
		return float64(kib) / 1024, nil
	}
	return 0, fmt.Errorf("the status of the process has no %s: it has ended", key)
}
