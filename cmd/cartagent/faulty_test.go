package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
)

// faultVar has the fault of a `cartagent-faulty`: HOW N, or HOW N KIND where only records of a kind count, or nothing.
const faultVar = "CARTAGENT_TEST_FAULT"

// The ways in which the Nth append of a process goes wrong. But for the last two they are its end, by SIGKILL.
const (
	faultBefore  = "before"   // before anything of the record is written
	faultByte    = "byte"     // after its first byte
	faultMiddle  = "middle"   // in its middle
	faultBrace   = "brace"    // before its last brace
	faultNewline = "newline"  // before its newline
	faultAfter   = "after"    // once it is written
	faultFull    = "full"     // the disk is full: it fails, and so do all after it
	faultUnsync  = "unsynced" // it is written, but cannot be synced, and the log is of no more use
)

// faulty is cartagent with a store that fails as faultVar says.
func faulty() {
	c := patient()
	f := &fault{}
	if n, _ := fmt.Sscan(os.Getenv(faultVar), &f.how, &f.at, &f.kind); n > 0 {
		c.over = func(s session.Store) session.Store { return faultyStore{Store: s, fault: f} }
	}
	perform(c)
}

// fault is what goes wrong in one process. Sessions have one turn at a time here, so nothing guards it.
type fault struct {
	how  string
	at   int
	kind string
	done int // appends so far
	dead error
}

type faultyStore struct {
	session.Store
	fault *fault
}

func (s faultyStore) Create(ctx context.Context, info session.Info) (session.Log, error) {
	l, err := s.Store.Create(ctx, info)
	if err != nil {
		return nil, err
	}
	return s.over(l), nil
}

func (s faultyStore) Lease(ctx context.Context, id string) (session.Log, error) {
	l, err := s.Store.Lease(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.over(l), nil
}

func (s faultyStore) over(l session.Log) session.Log {
	file := filepath.Join(os.Getenv("CARTAGENT_STATE_DIR"), "sessions", l.Info().ID+".jsonl")
	return &faultyLog{Log: l, fault: s.fault, file: file}
}

type faultyLog struct {
	session.Log
	fault *fault
	file  string
}

var errFault = errors.New("no space left on device")

func (l *faultyLog) Append(in ...loop.Input) error {
	f := l.fault
	if f.dead != nil {
		return f.dead
	}
	kind, _, _ := loop.EncodeInput(in[0])
	if f.kind == "" || f.kind == kind {
		f.done++
	}
	if f.done != f.at || f.kind != "" && f.kind != kind {
		return l.Log.Append(in...)
	}
	switch f.how {
	case faultBefore:
		die()
	case faultFull:
		f.dead = errFault
		return f.dead
	}
	before := fileSize(l.file)
	err := l.Log.Append(in...)
	if f.how == faultUnsync || err != nil {
		return err
	}
	whole := fileSize(l.file) - before
	keep, torn := map[string]int64{faultByte: 1, faultMiddle: whole / 2, faultBrace: whole - 2, faultNewline: whole - 1}[f.how]
	if torn {
		if err := os.Truncate(l.file, before+keep); err != nil {
			panic(err)
		}
	}
	die()
	return nil
}

func (l *faultyLog) Sync() error {
	f := l.fault
	if f.dead == nil && f.how == faultUnsync && f.done >= f.at {
		f.dead = errFault
	}
	if f.dead != nil {
		return f.dead
	}
	return l.Log.Sync()
}

func fileSize(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// die ends this process as kill -9 does.
func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
