// Package transcript records sessions as text, and plays them again: one txtar file holds everything that a session saw
// and everything that came of it.
//
//	the header     what it shows, which bug it caught
//	manifest.json  the version and the platform that recorded it, the clock, what is inside and what is not
//	log.jsonl      {"kind": …, "body": …}, the session's log as it was before, where it was loaded
//	wire.jsonl     {"in": …} and {"out": …}, the client's lines, one message a line, in the order in which they cross
//	model.jsonl    {"request": …, "chunks": …, "reply" or "failure": …}, each request to the model and what it streamed
//	tools.jsonl    {"call": …, "tool": …, "previews": …, "runs": …}, each call of a tool
//	kit.jsonl      the MCP servers' states, tools and prompts, and what else is not of this build
//	inputs.jsonl   {"kind": …, "body": …}, the inputs of the session's log
//	config/…       files of the configuration folder: AGENTS.md and skills
//	before/…       the workspace's files at the beginning, as far as they were read; before-2/… those of the first
//	               additional folder, and so on
//	after/…        and at the end
//
// A request in model.jsonl leaves out what is as in the one before it: "keep" is how many messages they share. "at" says
// how many inputs the log had got when something began. A file that is no lines of text is in before.json/… as a JSON
// string, or {"base64": …}.
//
// A Recorder looks on at three boundaries: loop.Model (request and chunks), loop.Tool (preview, progress, result and
// question: for the tool of an MCP server that is what is sent to it and what comes back, whichever way it is reached),
// and the lines of the connection. A Replay takes the place of the model, the servers and everything that executes.
// Tools that read and write files run for real in the recorded workspace: files that something else has changed
// meanwhile are laid out before the call that saw them. A call whose files are not inside answers from the record, and is
// listed as unverified.
//
// The log's inputs are the spine of a replay. Whatever posts one waits for its place among them, so calls that ran side
// by side end in the order in which they did, and a cancel comes exactly where it came. Once another input comes than
// the recorded one, nobody waits any more.
//
// Nothing is masked. Names that cannot be the same twice (ids of sessions and orders, addresses on loopback, the folder of
// the workspace) are counted in the order in which they appear, on both sides, so that the same name must stand in the
// same places. Lines that have no place among the others (notifications of the protocol level, notices, what is asked of
// the client's files and terminals) are compared as a set. Secrets are marked before anything is written.
//
// The package must not start an agent or know how one is made: it gets a connection to one.
package transcript
