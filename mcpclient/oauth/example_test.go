package oauth_test

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/cartagent/cartagent/mcpclient"
	"github.com/cartagent/cartagent/mcpclient/oauth"
)

// terminal is a browser for the command line: the person opens the page by themselves.
type terminal struct{}

func (terminal) Open(_ context.Context, server, address string) error {
	_, err := fmt.Fprintf(os.Stderr, "To sign in for server %s, open\n\n  %s\n\n", server, address)
	return err
}

// One store serves all servers; each has a handler of its own.
func ExampleNew() {
	store := oauth.NewStore("/var/lib/someone/tokens")
	options := mcpclient.Options{Authorize: func(s mcpclient.Server) auth.OAuthHandler {
		h, err := oauth.New(oauth.Config{
			Server: s.URL, Name: s.Name, Store: store, Grant: oauth.AuthorizationCode{Browser: terminal{}},
		})
		if err != nil {
			return nil // the server's address is none, which Connect says too
		}
		return h
	}}
	fmt.Println(options.Authorize(mcpclient.Server{Name: "shop", URL: "https://shop.example/mcp"}) != nil)
	// Output: true
}
