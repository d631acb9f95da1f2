// Package barista is a model that needs no network and no key: it takes orders at a coffee cart, in plain English.
//
// It is a model like any other. All it sees is a loop.Request, and all it can do is answer with text and with calls of
// the tools in that request. It finds the cart by what its tools are called (create_order, add_item and their like,
// behind the prefix of whatever server has them), reads the menu through mcp_read, and learns items, sizes and prices
// from there: none of them stands in this package.
//
//	Request.Messages -> turns -> replayed one after the other into a memory -> the last turn's next move
//	prompt -> tokens -> lexemes (items, sizes, counts, cues) -> groups -> wishes -> an agenda of tool calls
//
// It keeps nothing between requests. Each time, it plays the whole conversation again from its messages, so that a
// session that is resumed elsewhere goes on as if nothing had happened. The conversation may hold turns of another
// model: what their calls did counts, what they meant does not.
//
// Replies are a pure function of the request, every turn ends after a bounded number of calls, and what is said about
// an order, its lines, its total and its number, is what a tool has returned. It must not guess: what it does not
// understand it says, and then the order stays open rather than being placed.
package barista
