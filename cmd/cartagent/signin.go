package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/mcpclient"
	"github.com/cartagent/cartagent/mcpclient/oauth"
	"github.com/charmbracelet/log"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// oauthSpec is who we are to a server's authorization server, where a person has registered us there. Without one we
// register by ourselves.
type oauthSpec struct {
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	Redirect     string `json:"redirect,omitempty"`
	Grant        string `json:"grant,omitempty"`
}

// The grants that can be configured; the first one is a person's, and holds where none is named.
const (
	grantCode        = "authorization_code"
	grantCredentials = "client_credentials"
)

func (o oauthSpec) check(wrong func(key string, err error)) {
	switch o.Grant {
	case "", grantCode:
	case grantCredentials:
		if o.ClientID == "" || o.ClientSecret == "" {
			wrong("oauth", errors.New("client_credentials needs clientId and clientSecret"))
		}
	default:
		wrong("oauth.grant", fmt.Errorf("%q is not known: use %s or %s", o.Grant, grantCode, grantCredentials))
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		wrong("oauth.clientSecret", errors.New("it goes with a clientId"))
	}
}

// signer is who can sign in at a server.
type signer struct {
	browser oauth.Browser // nil for nobody
	advice  string        // what can be done then
	// elsewhere says that another process has them sign in already; nil for nobody.
	elsewhere func(server string)
}

func (o oauthSpec) grant(who signer) oauth.Grant {
	client := oauth.Client{ID: o.ClientID, Secret: o.ClientSecret}
	if o.Grant == grantCredentials {
		return oauth.ClientCredentials{Client: client}
	}
	return oauth.AuthorizationCode{
		Browser: who.browser, Nobody: who.advice, Client: client, Redirect: o.Redirect, Name: "cartagent",
	}
}

// tokens is where the tokens for servers are kept.
func (c *config) tokens() *oauth.Store { return tokensIn(c.state) }

// tokensIn is where the tokens for servers are kept, in the state folder; in memory where there is none.
func tokensIn(state string) *oauth.Store {
	if state == "" {
		return oauth.NewStore("")
	}
	return oauth.NewStore(tokenFolder(state))
}

// tokenFolder is the folder of tokensIn.
func tokenFolder(state string) string { return filepath.Join(state, "mcp-auth") }

// signIn gets tokens for servers at URLs by what spec says of a server of that name.
func signIn(store *oauth.Store, who signer, logger *log.Logger, spec func(name string) serverSpec) func(mcpclient.Server) auth.OAuthHandler {
	return func(s mcpclient.Server) auth.OAuthHandler {
		configured := oauthSpec{}
		if known := spec(s.Name); known.URL == s.URL {
			configured = known.OAuth
		}
		c := oauth.Config{Server: s.URL, Name: s.Name, Store: store, Grant: configured.grant(who), Log: logger}
		if who.elsewhere != nil {
			c.Elsewhere = func() { who.elsewhere(s.Name) }
		}
		h, err := oauth.New(c)
		if err != nil {
			return nil // the address is none, or the redirect; connecting says the first, configuring the second
		}
		return h
	}
}

// specIn finds a server of the configuration, or of the project that a folder is in, by its name.
func (c *config) specIn(work string) func(name string) serverSpec {
	project := c.projectIn(work)
	return func(name string) serverSpec {
		if s, ok := c.MCP[name]; ok {
			return s
		}
		return project.mcp[name]
	}
}

// signerAt is who sits at the terminal, if somebody does.
func signerAt(c console) signer {
	if !isTerminal(c.err) {
		return signer{advice: "run `cartagent mcp list` once in a terminal"}
	}
	return signer{browser: terminalBrowser{c.tell}, elsewhere: func(server string) {
		c.tell(fmt.Sprintf("the MCP server %s wants you to sign in, and another cartagent has shown you the page for that: "+
			"this one waits until you are done there", shown(server)))
	}}
}

// terminalBrowser has the person at a terminal open a page by themselves.
type terminalBrowser struct{ tell func(string) }

// Open is oauth.Browser's.
func (b terminalBrowser) Open(_ context.Context, server, address string) error {
	b.tell(fmt.Sprintf("the MCP server %s wants you to sign in. Open this address in a browser on this machine:\n\n  %s\n", server, address))
	return nil
}

// signerOf is the person of a session, if its client can show them pages.
func signerOf(s agent.Setup) signer {
	if s.Page == nil {
		return signer{advice: "this client cannot show the page for it: run `cartagent mcp list` once in a terminal, and start a new session"}
	}
	return signer{browser: clientBrowser{s.Page}}
}

// clientBrowser has the editor show the page.
type clientBrowser struct{ page agent.Page }

// Open is oauth.Browser's.
func (b clientBrowser) Open(ctx context.Context, server, address string) error {
	err := b.page(ctx, "The MCP server "+server+" wants you to sign in.", address)
	if errors.Is(err, agent.ErrDeclined) {
		return fmt.Errorf("%w: %w; start a new session to be asked again", oauth.ErrRefused, err)
	}
	return err
}
