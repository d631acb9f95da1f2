// Package llm holds what the adapters to model providers share; each provider is a package below it. An adapter is two
// pure halves, encode (a loop.Request to the provider's request) and a Decoder (the provider's events to chunks),
// between them the provider's official library for the request itself, and around them Shell:
//
//	loop.Request ── Tidy ── encode ── library ──▶ provider
//	loop.Chunk ◀── Shell (retry, stall) ◀── Decoder ◀── Events ◀── body
//
// The body is read here and not by the libraries, whose readers take the end of a stream for success, stop at long
// lines, and cost about ten times as much for each chunk.
//
// Nothing here reads the environment, keeps state between requests, or works at start-up.
package llm
