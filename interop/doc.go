// Package interop holds the tests that drive the built binary as others do: TestClients with programs of others, TestWire
// by hand on the raw wire, TestRegistry… as the ACP registry does, TestCart… on the coffee cart as MCP clients and the MCP
// conformance suite do. TestConformanceClient holds mcpclient, by the program in conformance-client, against the same suite.
// TestServers has the binary use MCP servers of others, with a model that calls what the client says.
//
// The programs come from the npm registry, by the lockfiles of this folder and of acp-factory, ai-provider, conductor and
// use-acp, whose SDKs differ, of conformance, which needs a newer Node, and of mcp-servers:
// `npm install --no-save --ignore-scripts` in each.
// Where they or Node are missing the tests skip; with CI=true that is a failure. go-client is a module of its own, for the
// client of github.com/coder/acp-go-sdk. With
// $CARTAGENT_BINARY the binary that it names is driven, else one built for the occasion.
//
// checks.mjs is what every client is put through, so that results compare; the script beside each client says how that
// client does each thing.
package interop
