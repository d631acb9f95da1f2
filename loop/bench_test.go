package loop

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
)

func BenchmarkStepChunk(b *testing.B) {
	s, _ := Step(State{}, Configured{Specs: specs()})
	start, _ := Step(s, prompt("hi"))
	chunk := Streamed{Kind: ChunkText, Text: "word "}
	b.ReportAllocs()
	s = start
	for n := 0; b.Loop(); n++ {
		if n%10_000 == 0 {
			s = start // a reply has an end
		}
		s, _ = Step(s, chunk)
	}
}

// BenchmarkStepCall is a call's way from its proposal to its result, in a history of a hundred messages.
func BenchmarkStepCall(b *testing.B) {
	s, _ := Step(State{}, Configured{Specs: specs()})
	for range 50 {
		s, _ = Step(s, prompt("hi"))
		s, _ = Step(s, says("hello"))
	}
	s, _ = Step(s, prompt("go"))
	inputs := append([]Input{calls("sell")}, ran("call_51_1")...)
	b.ReportAllocs()
	for b.Loop() {
		next := s
		for _, in := range inputs {
			next, _ = Step(next, in)
		}
	}
}

// chunks is a model that streams n chunks and then says them all.
type chunks int

func (c chunks) Stream(context.Context, Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for range int(c) {
			if !yield(Chunk{Kind: ChunkText, Text: "word "}, nil) {
				return
			}
		}
		m := Message{Role: RoleAssistant, Content: Blocks{Text{Text: strings.Repeat("word ", int(c))}}}
		yield(Chunk{Kind: ChunkReply, Reply: &Reply{Message: m, Stop: StopEndTurn}}, nil)
	}
}

// BenchmarkRunnerChunk is one chunk's way from the model to the sink.
func BenchmarkRunnerChunk(b *testing.B) {
	const each = 1000
	r := Runner{Model: chunks(each)}
	sink := func(context.Context, Event) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := r.Run(b.Context(), State{}, prompt("hi"), sink); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/each, "ns/chunk")
}

// BenchmarkReplay replays sessions of ever more turns, each of a call and a few chunks. The time for a turn must not
// grow with the session.
func BenchmarkReplay(b *testing.B) {
	for _, turns := range []int{100, 1_000, 10_000} {
		log := []Input{Configured{Specs: specs()}}
		for n := range turns {
			log = append(log, prompt("go"), Streamed{Kind: ChunkText, Text: "Let me"}, Streamed{Kind: ChunkText, Text: " see."}, calls("sell"))
			log = append(log, ran(fmt.Sprintf("call_%d_1", n+1))...)
			log = append(log, Streamed{Kind: ChunkText, Text: "Done."}, says("Done."))
		}
		b.Run(fmt.Sprint(turns, "turns"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, _ := Replay(slices.Values(log))
				if s.Turn() != turns || len(s.History()) != 4*turns {
					b.Fatal("the log does not replay")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(turns), "ns/turn")
		})
	}
}
