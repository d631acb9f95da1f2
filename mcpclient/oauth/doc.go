// Package oauth gets MCP servers over HTTP the tokens that they ask for: OAuth 2.1 as the revisions 2025-03-26 to
// 2026-07-28 of MCP want it. A [Handler] is an auth.OAuthHandler of the go-sdk, one a server.
//
//	401 or 403 with a challenge
//	  └ challenge.go   what is wanted: the metadata's address, the scopes
//	      └ discovery.go   which resource this is, who guards it, where its endpoints are
//	          └ Grant      the person's consent (code.go), our own name (machine.go) or the enterprise's word (enterprise.go)
//	              └ token.go   the token endpoint: code, refresh, client authentication
//	                  └ store.go   one file a server; other processes use it too
//
// What holds whatever a server says:
//   - A code, a refresh token, a client's secret go to the endpoints of the issuer that they belong to and to no other. A
//     token is for the one server; the transport keeps it from following a redirect to another origin, and a challenge from
//     another origin is refused.
//   - Metadata counts only where it names what was asked for, letter by letter: the resource, the issuer.
//   - A person is asked before a page is opened, and sees the whole address. The answer counts with the right state and
//     the right issuer only, once.
//   - Addresses are https, or loopback where the MCP server is on loopback itself. A server on a public address cannot
//     have addresses of the local network visited.
//   - Nothing that came out of a token endpoint, and nothing that went in, is in an error or in the log.
//
// Why these flows are not those of the go-sdk (v1.8.0), of which we use the interface, the metadata types and the parser
// of challenges. Its AuthorizationCodeHandler takes metadata that names another resource for none and goes on with
// the rules of 2025-03-26; takes any code_challenge_methods_supported for S256; has one redirect address for life, so
// no port of its own for each authorization; gives the page's answer to a callback that cannot know the issuer that it
// must come from; authorizes twice for two calls; does not bound tries; keeps nothing, so each start asks the person;
// refreshes without a resource, and lets a token endpoint redirect code and secret elsewhere; and its errors hold the
// bodies of token endpoints. The handlers of its extauth share the discovery, have no private_key_jwt, tie a token to
// the context of the request that asked for it, know one way of client authentication, and race.
package oauth
