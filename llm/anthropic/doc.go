// Package anthropic is the adapter to Anthropic's Messages API, through the official library for the request and with
// a reader of its own for the reply (see package llm).
//
// A request has the system prompt and the tools first and the messages behind them, and the same history always makes
// the same bytes, so request k+1 begins with the messages of request k. Prompt caching relies on that. Two marks ask
// for it: one at the end of system prompt and tools, which every session with the same ones shares, and the automatic
// one at the top level, which the API puts behind the last message. No mark stands inside a message, so none moves.
//
// Thinking goes back to the address that it came from, with its signature, and nowhere else.
package anthropic
