// Package cart is a coffee cart that takes orders over the Model Context Protocol, revision 2026-07-28.
//
// Its middle is one pure function. [Handle] takes the cart's whole memory as a value, one JSON-RPC message, and what
// only the outside can know (who calls, what time it is, a fresh handle); it gives back the next memory and the reply.
// It reads no clock, waits for nothing and changes nothing it was given. Around it are thin shells: [Serve] over standard
// input and output, [ServeHTTP] over Streamable HTTP; and a [Book] that keeps the orders: [Memory], or a [File] in SQLite.
//
//	message in → shell → Book: part of the orders → Handle(store, message, env) → (store, reply) → what changed is kept → reply out
//
// What a message can touch follows from the message (reach), so a File loads no more than that as the Store that Handle
// gets, and writes the few rows that Handle changed, in one transaction: two carts on one file see one history. A reply is
// given when what it tells is on the disk.
//
// Over HTTP each POST stands for itself. Nothing is streamed, there are no subscriptions and no sessions; a client of the
// handshake era, where it is served, gets no session id and needs none. Without bearer tokens the cart is for this machine
// alone, and a web page that gets at it through a browser is refused by its origin or its host name.
//
// The question for a missing size carries no requestState, since the retry has all that is needed: the arguments and the
// answer, which are checked like those of any other call. A requestState that comes all the same is not looked at, so there
// is none to forge.
//
// Failure comes in two kinds. A message that is wrong as a message (unknown tool, arguments that break a tool's
// schema, no version) is a JSON-RPC error. A rule of the cart (sold out, expired, nothing to place) is a tool result
// with isError and a sentence saying what to do next, since a model can act on that.
//
// The package must not grow sessions: each request carries all that is needed to answer it, and what lasts lives
// behind an order's handle, which opens nothing for any caller but the one it was made for.
package cart
