package loop

import "slices"

// State is all that the loop knows of a session: the fold of its inputs. The zero value is a session in which nothing
// has happened. It is a value: Step returns a new one and never changes the one it was given, so it may be kept,
// compared with another by what the methods say, and read from any goroutine.
type State struct {
	specs  []Spec
	rules  Rules // as configured
	added  Rules // by the person's answers
	limits Limits
	system string

	options     []choice // sorted by their names
	title       string
	titled      bool // the client knows the title
	notes       int
	compactions int // begun

	trace   Trace // of the latest prompt
	history []Message
	turn    int
	phase   phase
	slots   []slot
	queued  []Prompted // that wait for the calls of a turn that was interrupted
	partial *piece     // what the model has streamed of its reply
	// ids of the message and of the thoughts that are being streamed
	messageID, thoughtID string
	tally                tally
	usage                Usage
}

// tally is what a turn's limits count.
type tally struct {
	start    int    // messages of history before the turn
	requests int    // model requests
	calls    int    // calls named
	cuts     int    // replies in a row that the token limit cut in mid-call
	same     int    // batches in a row with the same calls and results
	batch    uint64 // the last batch's fingerprint
}

type phase int

const (
	idle phase = iota
	asking
	calling
	summarizing // no turn, but a compaction
	interrupted // no turn, but calls of one that the next prompt comes back to
)

// stage is where a call is. It moves one way, except between running and answering, and where a turn was interrupted.
type stage int

const (
	waiting    stage = iota // for the calls before it
	previewing              // by its tool
	held                    // for its turn to be asked about
	deciding                // by the person
	intending               // for its intent to be logged
	running                 // by its tool
	answering               // for the person's answer to the tool's question
	doubtful                // for the next prompt, since nobody knows whether it ran to its end
	checking                // for a look at whether it did
	settled
)

type slot struct {
	call     Call
	spec     Spec
	stage    stage
	preview  Preview
	options  []Option // that the person was offered
	doubt    bool     // it ran before, and may have taken effect
	key      string
	question Question
	answers  []Answer
	result   Result
}

// piece is a chunk of the model's reply and what came before it. Sharing the chain makes a chunk cheap.
type piece struct {
	prev *piece
	kind ChunkKind
	text string
}

// Idle says whether neither a turn nor a compaction is under way.
func (s State) Idle() bool { return s.phase == idle }

// Interrupted says whether a turn was interrupted that has calls left for the next prompt.
func (s State) Interrupted() bool { return s.phase == interrupted }

// Turn is the number of the latest turn, from 1; 0 before the first.
func (s State) Turn() int { return s.turn }

// History is what the model is sent. It must not be changed.
func (s State) History() []Message { return slices.Clip(s.history) }

// Specs are the tools of the session. They must not be changed.
func (s State) Specs() []Spec { return slices.Clip(s.specs) }

// System is the system prompt.
func (s State) System() string { return s.system }

// Usage is what the latest model request used.
func (s State) Usage() Usage { return s.usage }

// Rules are the rules in force: those of the configuration and those that the person's answers added.
func (s State) Rules() Rules { return slices.Concat(s.rules, s.added) }

// Configured are the rules of the configuration alone.
func (s State) Configured() Rules { return slices.Clip(s.rules) }

// Added are the rules that the person's answers have added, in the order in which they came.
func (s State) Added() Rules { return slices.Clip(s.added) }

// Notes is how many exchanges there were that the model knows nothing of.
func (s State) Notes() int { return s.notes }

// Compactions is how many compactions were begun.
func (s State) Compactions() int { return s.compactions }

// Unsettled are the calls of the turn under way that have no result yet.
func (s State) Unsettled() []Call {
	var out []Call
	for _, sl := range s.slots {
		if sl.stage != settled {
			out = append(out, sl.call)
		}
	}
	return out
}

func (s State) spec(name string) (Spec, bool) {
	for _, sp := range s.specs {
		if sp.Name == name {
			return sp, true
		}
	}
	return Spec{}, false
}

func (p *piece) has(kind ChunkKind) bool {
	for ; p != nil; p = p.prev {
		if p.kind == kind {
			return true
		}
	}
	return false
}

// blocks is what was streamed, chunks of one kind joined.
func (p *piece) blocks() Blocks {
	var parts []*piece
	for ; p != nil; p = p.prev {
		parts = append(parts, p)
	}
	slices.Reverse(parts)
	var out Blocks
	for len(parts) > 0 {
		kind, text := parts[0].kind, []byte(nil)
		for len(parts) > 0 && parts[0].kind == kind {
			text = append(text, parts[0].text...)
			parts = parts[1:]
		}
		if kind == ChunkThought {
			out = append(out, Thought{Text: string(text)})
		} else {
			out = append(out, Text{Text: string(text)})
		}
	}
	return out
}
