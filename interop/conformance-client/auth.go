package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/charmbracelet/log"
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/cartagent/cartagent/mcpclient"
	"github.com/cartagent/cartagent/mcpclient/oauth"
)

// identity is what a scenario of authorization tells the client about itself.
type identity struct {
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	Issuer        string `json:"issuer"`
	Key           string `json:"private_key_pem"`
	Algorithm     string `json:"signing_algorithm"`
	ProviderID    string `json:"idp_client_id"`
	ProviderName  string `json:"idp_issuer"`
	ProviderToken string `json:"idp_token_endpoint"`
	IDToken       string `json:"idp_id_token"`
}

// document is the address that the suite takes for this client's metadata document. Nothing fetches it.
const document = "https://conformance-test.local/client-metadata.json"

// grant is the way to get a token in a scenario.
func (i identity) grant(name string) (oauth.Grant, error) {
	client := oauth.Client{ID: i.ClientID, Secret: i.ClientSecret, Issuer: i.Issuer, Algorithm: i.Algorithm}
	if i.Key != "" {
		key, err := oauth.ParseKey([]byte(i.Key))
		if err != nil {
			return nil, err
		}
		client.Key = key
	}
	switch {
	case strings.HasPrefix(name, "auth/client-credentials-"):
		return oauth.ClientCredentials{Client: client}, nil
	case name == "auth/enterprise-managed-authorization":
		return oauth.Enterprise{
			Client: client, Provider: oauth.Client{ID: i.ProviderID, Issuer: i.ProviderName}, ProviderToken: i.ProviderToken,
			IDToken: func(context.Context) (string, error) { return i.IDToken, nil },
		}, nil
	}
	return oauth.AuthorizationCode{Browser: follower{}, Client: client, Document: document}, nil
}

// authorizer authorizes at the server of a scenario.
func (i identity) authorizer(name, server string, logger *log.Logger) (func(mcpclient.Server) auth.OAuthHandler, error) {
	grant, err := i.grant(name)
	if err != nil {
		return nil, err
	}
	h, err := oauth.New(oauth.Config{Server: server, Name: "suite", Grant: grant, Log: logger})
	if err != nil {
		return nil, err
	}
	return func(mcpclient.Server) auth.OAuthHandler { return h }, nil
}

// follower is a browser without a person: the suite's pages consent at once.
type follower struct{}

// Open goes to the page, and where that redirects to.
func (follower) Open(ctx context.Context, _, address string) error {
	back, err := redirected(ctx, address)
	if err != nil {
		return err
	}
	if back == "" {
		return errors.New("the page does not redirect")
	}
	_, err = redirected(ctx, back)
	return err
}

// redirected gets a page and says where it redirects to.
func redirected(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusBadRequest {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp.Header.Get("Location"), nil
}
