// Package goclient drives the built binary with the client of github.com/coder/acp-go-sdk. It is a module of its own, so
// that the SDK is not among the dependencies of cartagent. $CARTAGENT_BINARY names the binary; without it the tests build
// one.
package goclient
