// Package agent joins the two halves: it is an acp.Agent whose sessions are loops.
//
// A prompt goes through it like this:
//
//	acp reader  →  Agent.Prompt: finds the session, reserves a place in its queue
//	own goroutine → waits for its turn, makes the session's Kit if there is none yet, runs loop.Runner
//	loop events →  UpdateFor  →  session/update, one after the other, each written before the next is made
//	loop.Gate   →  session/request_permission
//
// What a session works with (model, tools, instructions) comes from Options.Open, so this package knows neither
// providers nor tools. It must not decide about permission (loop does), tell the client of a conversation outside the
// turn or the load that it belongs to (commands, modes and options may change at any time), or hold a session's state
// outside the turn that owns it.
package agent
