// Package transcript reads, plays and writes sessions that are kept as text: one txtar file holds everything that a
// scenario needs and everything that must come of it.
//
//	the header     what the scenario shows, which bug it caught
//	config.json    {"model": "scripted"} or {"model": "barista/cart"}
//	model.jsonl    the scripted model's replies, one a line (see llm/scripted)
//	wire.jsonl     {"in": …} and {"out": …}, one message a line, in the order in which they must cross
//	inputs.jsonl   {"kind": …, "body": …}, the inputs of the session's log
//	before/…       the workspace's files at the beginning
//	after/…        and at the end
//
// Nothing is masked. Names that cannot be the same twice (ids of sessions and orders, addresses on loopback, the folder of
// the workspace) are counted in the order in which they appear, on both sides, so that the same name must stand in the
// same places. Only notifications of the protocol level ($/cancel_request) have no place among the other lines: they are
// held against each other in their own order.
//
// The package must not start an agent or know how one is made: it gets a connection to one.
package transcript
