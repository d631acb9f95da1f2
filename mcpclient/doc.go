// Package mcpclient makes the tools, resources and prompts of MCP servers usable in a loop, over stdio and HTTP, in both
// eras of the protocol: 2026-07-28 (modern: no handshake) and 2025-11-25 or older (legacy: initialize).
//
//	Client (calls, rounds of questions, timeouts, errors for the model)
//	  └ go-sdk session (ids, cancellation, the modern _meta, the legacy handshake)
//	      └ conn (which answer belongs to what; era; what the SDK must not see)
//	          ├ pipe    one JSON message a line
//	          │   └ process (own group, small environment, stderr, shutdown)
//	          └ remote  Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05
//	              └ do  (headers, redirects, authorization) and events (text/event-stream)
//
// The SDK decodes results into types that lose data: big integers, unknown kinds of content, whole lists where one
// entry is odd. So conn keeps each result's bytes and hands the SDK a ticket in their place; Client redeems it and
// decodes by itself. What a server says is never trusted: annotations count for servers that the user trusts only.
//
// # What the SDK does not do
//
// Of go-sdk v1.8.0 this package uses the session (ids, cancellation, the _meta of each request, the handshake), the types
// and the errors. The wires are its own, for HTTP too. What the SDK was found to lack is done here:
//
//	a server is silent on server/discover         | Options.Probe bounds the wait, and initialize follows
//	a server ends over server/discover            | initialize goes to a new process, and Options.Eras remembers it
//	any error leads on to initialize              | only what the next table says; else that error is the reason
//	a line that is no message ends the session    | it is skipped, and logged once a second at most; so are answers to nothing
//	16 MiB a line; only the child is killed       | 64 MiB, and beyond it one call fails; the process's whole group is ended
//	input_required with a state alone is a result | it is a wish to wait, see Questions
//	an unknown resultType counts as complete      | it is ErrInvalid, in both eras, and nothing else of the result is read
//	outputSchema is not checked, digits are lost  | results are held against it as they came; null is not the same as nothing
//	an unknown kind of content fails the result   | it is a loop.Other, which models are told of
//	the cursor "" ends a list, or it never ends   | "" is a cursor, one that comes twice is the end; all is bounded
//	Mcp-Name is sent as it is                     | in base64 where it must be
//	-32020 is the end of a call                   | its tools are listed again, and it is sent once more
//	a subscription is refused or ends unseen      | it is logged, or opened again; acknowledgements and ids are checked
//	progress may come after its call has returned | it is taken off before the SDK sees it, and nothing is shown after Run
//	a modern server's requests are answered       | they are skipped
//	notifications/cancelled is posted over HTTP   | a modern server sees its stream end; a legacy one wants it
//	answers are checked before they have defaults | Question.Fill puts in the defaults, then checks
//	a call's params are changed, lists are shared | params are made for each request, and lists decoded for each caller
//	there are no tasks                            | nor here: see the limits
//	cacheScope is not looked at                   | a cache belongs to one client, and so to one authorization
//	no timeouts, no restarts, no progress of one  | see Time and Host
//
// # Era
//
// server/discover goes first. A result that names a version of ours makes the server modern, as do the errors -32020 to
// -32022; those never fall back, and where no version is common the error names those of both. What else follows:
//
//	over  | what comes                                            | then
//	stdio | another error, silence, an answer that makes no sense | initialize on the same process
//	stdio | an exit                                               | initialize on a new one
//	HTTP  | 4xx, 500, 501 or an answer that makes no sense        | initialize by POST
//	HTTP  | silence past Options.Probe                            | initialize by POST, while the probe may still be answered
//	HTTP  | initialize gives 400, 404 or 405, and no -32022       | GET for the endpoint event of HTTP+SSE
//	HTTP  | 401, 403                                              | ErrAuth, never a fallback
//	HTTP  | 407, 408, 429, other 5xx                              | an error
//
// Options.Eras remembers the servers of the handshake era: initialize goes first then, and the probe only if that fails.
//
// # HTTP
//
// A modern server gets the headers of 2026-07-28, in base64 where they must be; its Mcp-Session-Id is not looked at. Tools
// whose x-mcp-header is not valid are left out of lists. When it misses a header of a call (-32020), its tools are listed
// again and the call repeated, once.
//
// A legacy server gets its session id back, a stream for what it says unasked, answers to its ping, roots/list (none) and
// elicitation/create, and DELETE at the end. A stream that ends early is taken up again by Last-Event-ID. When the session
// is forgotten (404), one new one is begun for all calls that this has met, and each of them is sent once more.
//
// A request whose answer was lost is sent again under a new id where it only reads, or where the tool honours the
// idempotency key that it has; otherwise the error is ErrLost and says that the outcome is not known.
//
// Headers of the configuration and tokens go to the origin of the URL only, also when it redirects; a redirect from https to
// http is refused. 307, 308, 301 and 302 repeat the POST. Proxies are those of the environment. A message may have 64 MiB.
//
// Without Options.Authorize a refusal is ErrAuth. With it the handler is asked at 401 and at 403, once for each per request
// and by one request for all; it must end when its ctx does. A configured Authorization header goes before it.
//
// # Questions
//
// What a server wants to know from the person goes to Options.Elicit, with defaults filled in and the answer checked; with
// Options.Asks, what is about a call or the tool mcp_read goes to the loop instead, as a *loop.NeedsAnswer. Elicitation is
// declared only when one of them is set. A modern server's input_required is answered by a new request with the answers and
// the same state, at most ten times; without questions it is a wish to wait. Client.Call gives the questions back instead.
//
// A legacy server's error -32042 names pages to open first. They are questions like others, and when the person has agreed
// to all of them the request is made anew. If it is refused again for the same pages, the person is on their way: it is made
// again when the server says that they are done (notifications/elicitation/complete), and after pauses of 2 to 30 s, ten
// times at most. Options.Completed hears of pages that are done.
//
// # Time
//
// A request may take Server.Timeout. Each call of a tool, read of a resource and request for a prompt has a progressToken,
// and each notifications/progress for it whose progress is more than the last gives it its timeout once more, up to
// Server.Ceiling in all. What does not grow extends nothing and is not shown: else a server that is stuck would live for as
// long as it says so. The time of a person who is asked something does not count. Then the request is cancelled (by a
// message, or by the end of its stream where the server is modern and at a URL), what still comes for it is ignored, and the
// error says that the outcome is not known.
//
// Progress is reported by Tool.Run, and by the tool mcp_read, as one line, each in place of the one before: at once, then at
// least 250 ms apart, and as a call goes on a sixtieth of its time, 5 s at most. That is fewer than a thousand lines an
// hour, and the last one always. Nothing is reported after Run has returned, of a call that was given up, or by another's
// token.
//
// A host ends a process that lets three requests in a row, not side by side, run out without a single message, if it does
// not answer ping (server/discover in the modern era) within Options.Probe either. It is started again like one that ended.
// Servers at a URL are left alone: there is no process to end.
//
// What a server logs (notifications/message) goes to our log as debug, ten messages a second at most. No level is asked for.
//
// A Client is one connection; when its server ends, it has ended too. A [Host] keeps the servers of a session: it starts
// them side by side and again when they end, and offers tools that live on from one process to the next.
//
// A [Shelf] keeps back a host's tools where they would take too much of a model's window: the model gets an index of them,
// and the tool tool_search, which adds what it finds at the end of the list.
//
// An exposed tool is called SERVER__TOOL; see ToolName for what happens to names that do not fit. Server.Allow and Deny
// choose among a server's tools; those left out are never listed, so they cannot be called.
//
// Results of lists and of resources/read are kept for their ttlMs, those of legacy lists until list_changed if the server
// has promised to tell; what was asked for before a change, or after the person was asked for input, is not kept. A cache
// belongs to one client, and so to one authorization: cacheScope makes no difference. Changes are heard of by
// subscriptions/listen, or as legacy servers send them, and by resources/subscribe for what was read; a subscription that
// ends, by a result, by notifications/cancelled or by neither, is opened again, and what it may have missed counts as
// changed. What a server does not acknowledge it does not tell of; one that acknowledges nothing is not listened to. A
// notification that names a subscription which is none of ours is skipped; one that names none is a hint, and counts.
//
// A schema of arguments that refers to something outside of itself, refers to itself without end, or that no object fits
// makes its tool unusable: it is left out, with a warning. An output schema like that is only not used. A result that does
// not fit its tool's output schema, or lacks structured content, is a failed one that says so and shows all the same what
// came. Of the text of a result a session gets 256 KiB at most, and is told how much is left out; Client.Call and Tool.Run
// give all of it.
//
// # Limits of this version
//
//   - No tasks: a result of the type task is an error, and tools that need one are left out.
//   - Progress is not asked for where lists are read and arguments completed.
//   - Sampling and roots are not declared. A modern server that asks for them fails the call.
//   - A server over Streamable HTTP does not count as ended, and each call finds out anew, but for one that has forgotten
//     the session and refuses the version of before.
//   - A prompt becomes part of one message of the user; the other roles in it are named in words. ACP has no completion for
//     the arguments of slash commands, so values are named where one is missing or refused.
//   - A subscription that is never acknowledged is not noticed. What nobody tells of holds for its ttlMs.
//   - What a server has started outside of its own process group does not end with it.
//   - Children die with this process on Linux (the server itself, not what it has started, if this process is killed
//     by SIGKILL; those see the end of their input). Elsewhere a killed process leaves them to see that end too.
//   - A cursor that is empty is a cursor like any other; a cursor that comes twice ends the list, with a warning.
package mcpclient
