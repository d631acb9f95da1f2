// Package bench_test measures the real binary beside a bare floor, in turn and in the same run. README.md says how to read
// it.
package bench_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inTurn takes a figure of each program, ours and the floor's by turns, for as long as the benchmark runs, and reports the
// medians and how many times the floor ours is.
func inTurn(b *testing.B, m metric, take func(of side) float64) {
	b.Helper()
	var ours, floor []float64
	for b.Loop() {
		ours = append(ours, take(cartagentSide))
		floor = append(floor, take(floorSide))
	}
	report(b, m, median(ours), median(floor))
}

// side says which of the two programs is meant.
type side int

const (
	cartagentSide side = iota
	floorSide
)

// metric names a figure: "ms" of "start" is reported as ms/start and floor-ms.
type metric struct{ unit, per string }

func report(b *testing.B, m metric, ours, floor float64) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // it would be the sum of both, with what is not measured
	b.ReportMetric(ours, m.unit+"/"+m.per)
	b.ReportMetric(floor, "floor-"+m.unit)
	if floor > 0 { // else noise was more than there was to measure
		b.ReportMetric(ours/floor, "x-floor")
	}
}

// median sorts values.
func median(values []float64) float64 {
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
func microseconds(d time.Duration) float64 { return d.Seconds() * 1e6 }

// programs returns the two to compare, cartagent first.
func programs(tb testing.TB) [2]program {
	tb.Helper()
	ours, err := buildCartagent()
	require.NoError(tb, err)
	floor, err := buildFloor()
	require.NoError(tb, err)
	return [2]program{
		cartagentSide: {name: "cartagent", argv: []string{ours, "acp"}},
		floorSide:     {name: "floor", argv: []string{floor}},
	}
}

// places gives each of the two a place of its own at the same stub.
func places(b *testing.B) [2]place {
	b.Helper()
	s := startStub(b)
	return [2]place{newPlace(b, s), newPlace(b, s)}
}

// BenchmarkInitialize is from just before the process starts to the answer of initialize.
func BenchmarkInitialize(b *testing.B) {
	binaries, where := programs(b), places(b)
	inTurn(b, metric{"ms", "start"}, func(of side) float64 {
		a := start(b, binaries[of], where[of])
		defer a.stop()
		return milliseconds(a.initialize().Sub(a.started))
	})
}

// BenchmarkSession is from just before the process starts to the answer of session/new.
func BenchmarkSession(b *testing.B) {
	binaries, where := programs(b), places(b)
	inTurn(b, metric{"ms", "session"}, func(of side) float64 {
		a := start(b, binaries[of], where[of])
		defer a.stop()
		a.initialize()
		_, at := a.newSession()
		return milliseconds(at.Sub(a.started))
	})
}

// open starts both, warms them with one turn, and ends them with the benchmark.
func open(b *testing.B) [2]*agent {
	b.Helper()
	binaries, where := programs(b), places(b)
	var agents [2]*agent
	for of := range agents {
		agents[of] = start(b, binaries[of], where[of])
		b.Cleanup(agents[of].stop)
		agents[of].initialize()
		session, _ := agents[of].newSession()
		agents[of].play(say(1), session)
	}
	return agents
}

// BenchmarkChunk is a streamed chunk of text from the model to the client: a turn of 1000 chunks less a turn of one, each
// in a session of its own.
func BenchmarkChunk(b *testing.B) {
	const chunks = 1000
	one, many := say(1), say(chunks)
	agents := open(b)
	inTurn(b, metric{"µs", "chunk"}, func(of side) float64 {
		a := agents[of]
		first, _ := a.newSession()
		second, _ := a.newSession()
		base := a.play(one, first)
		return microseconds(a.play(many, second)-base) / (chunks - 1)
	})
}

// BenchmarkToolRound is one round of a turn: the model asks for a file, the client is asked for it, and the model is sent
// the result. It is a turn of 20 rounds less a turn without, over 20.
func BenchmarkToolRound(b *testing.B) {
	agents := open(b)
	inTurn(b, metric{"ms", "round"}, func(of side) float64 {
		a := agents[of]
		first, _ := a.newSession()
		second, _ := a.newSession()
		base := a.play(say(1), first)
		return milliseconds(a.play(readFiles(a.place, fileCount), second)-base) / fileCount
	})
}

// BenchmarkMemory is resident memory once the process has come to rest, in MB of 1024 kB.
func BenchmarkMemory(b *testing.B) {
	needProc(b)
	b.Run("idle", func(b *testing.B) { held(b, func(a *agent) { a.newSession() }) })
	b.Run("100_turns", func(b *testing.B) {
		held(b, func(a *agent) {
			session, _ := a.newSession()
			for range 100 {
				a.play(say(10), session)
			}
		})
	})
	for _, n := range []int{50, 100} {
		b.Run(fmt.Sprintf("%d_sessions", n), func(b *testing.B) {
			held(b, func(a *agent) { a.newSessions(n) })
		})
		b.Run(fmt.Sprintf("%d_sessions_prompted", n), func(b *testing.B) {
			held(b, func(a *agent) { a.play(say(1), a.newSessions(n)...) })
		})
	}
}

// held reports what a process that was used so holds.
func held(b *testing.B, use func(*agent)) {
	b.Helper()
	binaries, where := programs(b), places(b)
	var anonymous []float64
	inTurn(b, metric{"MB", "process"}, func(of side) float64 {
		a := start(b, binaries[of], where[of])
		defer a.stop()
		a.initialize()
		use(a)
		m := a.memoryAtRest()
		if of == cartagentSide {
			anonymous = append(anonymous, m.anonymous)
		}
		return m.resident
	})
	b.ReportMetric(median(anonymous), "anon-MB")
}

// BenchmarkFirstRequest is the size of the first model request of a session, and of its parts.
func BenchmarkFirstRequest(b *testing.B) {
	agents := open(b)
	var parts requestSize
	inTurn(b, metric{"bytes", "request"}, func(of side) float64 {
		a := agents[of]
		session, _ := a.newSession()
		a.place.stub.take()
		a.play(say(1), session)
		seen := a.place.stub.take()
		require.NotEmpty(b, seen)
		if of == cartagentSide {
			parts = seen[0]
		}
		return float64(seen[0].Total)
	})
	b.ReportMetric(float64(parts.System), "system-bytes")
	b.ReportMetric(float64(parts.Tools), "tools-bytes")
}
