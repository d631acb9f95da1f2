// Package loop is the turn of an agent: a prompt goes to a model, the model names tool calls, each call is judged, asked
// about, run and answered, and the model goes on until it has nothing more to call.
//
// It has two halves. The core decides: [Step] takes a [State] and an [Input] and gives the next state and a list of
// [Effect]. It is pure and total: no clock, no chance, no files, no goroutines, and an input that does not fit changes
// nothing. The shell acts: [Runner] logs each input, steps the core and performs the effects with the help of a [Model],
// the [Tool] list, a [Gate], an [Asker] and a [Log]. Whatever the core knows came in as an input, so [Replay] of a log
// rebuilds every event, every byte of history and every stop reason.
//
// One turn:
//
//	Prompted ─▶ AskModel ─▶ Streamed… ─▶ Replied ──no calls──▶ EndTurn
//	               ▲            │           │ calls
//	               │            │           ▼
//	               │       ModelFailed   each call goes through its stages
//	               │            ▼           │ all have settled
//	               │         FailTurn       ▼
//	               └──────────────── results, in the order of the calls ──limit──▶ EndTurn
//
// A Cancelled input ends the turn from any place: what was streamed stays in history, and every open call is settled.
//
// The stages of a call, each entered at most once (but for running, to which an answer leads back):
//
//	stage       waits for                    effect on the way in       left by
//	waiting     the calls before it          ToolProposed               its turn
//	previewing  its tool's preview           PreviewCall                Previewed
//	held        a verdict, or to be asked    ToolPreviewed              the rules, or no other question open
//	deciding    the person                   AskUser                    Decided
//	intending   its intent to be on disk     Intend                     Intended
//	running     its tool                     ToolStarted, RunTool       Finished, Asked
//	answering   the person's answer          AskForm                    Answered
//	doubtful    the next prompt              ToolInterrupted            Prompted
//	checking    a look at what it has done   CheckCall                  Checked
//	settled     the others of its reply      ToolFinished
//
// Calls of a reply are started in its order. One whose [Spec] is Parallel runs beside other parallel ones; any other
// waits for all before it and holds up all behind it. One question of permission is open at a time, because an answer
// may decide the next.
//
// A call that was running when its turn was interrupted is in doubt. The next prompt comes back to it before anything
// else: it runs again where that is no more than running once, its tool tells what it finds (see [Checker]), or the
// person is asked; by the last two it has its result, runs by a new intent, or is left with its outcome unknown.
//
// What holds at all times: a call that was proposed is settled exactly once before its turn ends; a tool runs only after
// its Intended input, and never after a denial; a turn has exactly one end; and history is well paired, each message
// with calls followed by one with a result for each, whenever a model is asked and whenever the session is idle.
//
// What this package must not do: import anything of this module, decide permission anywhere but in [Rules.Decide], run a
// tool that the rules or the person did not allow, or take an error, a missing answer or an answer that was not offered
// for an approval. Files other than ports.go and run.go are core, and import nothing that can act.
package loop
