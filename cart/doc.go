// Package cart is a coffee cart that takes orders over the Model Context Protocol, revision 2026-07-28.
//
// Its middle is one pure function. [Handle] takes the cart's whole memory as a value, one JSON-RPC message, and what
// only the outside can know (who calls, what time it is, a fresh handle); it gives back the next memory and the reply.
// It reads no clock, waits for nothing and changes nothing it was given. [Serve] is the thin shell that does those
// things over standard input and output.
//
//	line in → Serve → Handle(store, message, env) → (store, reply) → Serve → line out
//
// Failure comes in two kinds. A message that is wrong as a message (unknown tool, arguments that break a tool's
// schema, no version) is a JSON-RPC error. A rule of the cart (sold out, expired, nothing to place) is a tool result
// with isError and a sentence saying what to do next, since a model can act on that.
//
// The package must not grow sessions: each request carries all that is needed to answer it, and what lasts lives
// behind an order's handle, which opens nothing for any caller but the one it was made for.
package cart
