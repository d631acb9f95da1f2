// Package acp speaks version 1 of the Agent Client Protocol, both ends of it: [Serve] is the agent's end of a
// connection and [Dial] the client's. It holds the protocol and nothing else, so a program that has nothing to do
// with cartagent can use it to write an agent or a client.
//
// The types are written by hand for the whole of stable version 1 and carry the names of the schema in Go's
// spelling (SessionId is [SessionID], McpServerHttp is [MCPServerHTTP]). A few rules hold for all of them:
//
//   - Unions are sealed interfaces: [ContentBlock], [SessionUpdate], [ToolCallContent], [MCPServer], [AuthMethod],
//     [SessionConfigOption] and so on. A variant this package does not know decodes to the union's Raw type, which
//     encodes to what came in. Switch over the variants and give the switch a default.
//   - A field that may be absent is a pointer where absence means something of its own, and otherwise a plain value
//     whose zero value is left out. A nil slice is left out, an empty one is sent as []; a slice the protocol
//     requires is never null. A patch that tells "unchanged" from "cleared" has type [Opt].
//   - Decoding params is strict about required fields and names the field in its error, and lenient where the
//     schema says so: a malformed display field, capability or _meta counts as absent, and bad members of a list so
//     marked are dropped. Unknown fields are ignored.
//   - Every object has a Meta, the _meta of the protocol: the only place for data of one's own.
package acp
