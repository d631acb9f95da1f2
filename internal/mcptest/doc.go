// Package mcptest has an MCP server for tests that lets nobody in without a token, and the authorization server that gives
// them. Both are real ones, on loopback: the tests of several packages sign in to them as users do.
package mcptest
