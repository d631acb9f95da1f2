// Package mcpclient makes the tools, resources and prompts of MCP servers usable in a loop, over stdio and in both eras
// of the protocol: 2026-07-28 (modern: no handshake) and 2025-11-25 or older (legacy: initialize).
//
//	Client (calls, timeouts, errors for the model)
//	  └ go-sdk session (ids, cancellation, the modern _meta, the legacy handshake)
//	      └ conn (one JSON message a line; era; what the SDK must not see)
//	          └ process (own group, small environment, stderr, shutdown)
//
// The SDK decodes results into types that lose data: big integers, unknown kinds of content, whole lists where one
// entry is odd. So conn keeps each result's bytes and hands the SDK a ticket in their place; Client redeems it and
// decodes by itself. What a server says is never trusted: annotations count for servers that the user trusts only.
//
// How the era is found: server/discover goes first. A result that names a version of ours makes the server modern, as
// do the errors -32020 to -32022; those never fall back. Any other error, silence past Options.Probe, or an answer
// that makes no sense is followed by initialize on the same process, an exit by initialize on a new one.
//
// A Client is one connection; when its server ends, it has ended too. A [Host] keeps the servers of a session: it starts
// them side by side and again when they end, and offers tools that live on from one process to the next.
//
// An exposed tool is called SERVER__TOOL; see ToolName for what happens to names that do not fit. Server.Allow and Deny
// choose among a server's tools; those left out are never listed, so they cannot be called.
//
// Results of lists and of resources/read are kept for their ttlMs, those of legacy lists until list_changed if the server
// has promised to tell; what was asked for before a change, or after the person was asked for input, is not kept. A cache
// belongs to one client, and so to one authorization: cacheScope makes no difference. Changes are heard of by
// subscriptions/listen, or as legacy servers send them, and by resources/subscribe for what was read; a subscription that
// ends is opened again, and what it may have missed counts as changed.
//
// A schema of arguments that refers to something outside of itself, refers to itself without end, or that no object fits
// makes its tool unusable: it is left out, with a warning. An output schema like that is only not used. A result that does
// not fit its tool's output schema, or lacks structured content, is a failed one that says so and shows all the same what
// came.
//
// Limits of this version:
//   - No progress, no tasks: a result of the type task is an error.
//   - Sampling and roots are not declared. A modern server that asks for them fails the call.
//   - A prompt becomes part of one message of the user; the other roles in it are named in words. ACP has no completion for
//     the arguments of slash commands, so values are named where one is missing or refused.
//   - A subscription is acknowledged with what the server grants; that is not held against what was asked, nor are
//     notifications by their subscriptionId. What nobody tells of holds for its ttlMs.
//   - Children die with this process on Linux (the server itself, not what it has started, if this process is killed
//     by SIGKILL; those see the end of their input). Elsewhere a killed process leaves them to see that end too.
//   - A cursor that is empty is a cursor like any other; a cursor that comes twice ends the list, with a warning.
package mcpclient
