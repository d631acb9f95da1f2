package agent

import (
	"context"
	"errors"

	"github.com/cartagent/cartagent/acp"
)

// The ways to log in. The first is always there: it is for who has configured a provider, and for the offline model.
const (
	authProvider acp.AuthMethodID = "provider"
	authLogin    acp.AuthMethodID = "login"
)

func authMethods(client acp.ClientCapabilities) acp.AuthMethods {
	methods := acp.AuthMethods{acp.AuthMethodAgent{
		ID: authProvider, Name: "Use the configured provider",
		Description: "Uses the keys of the environment or those stored by `cartagent login`. The offline model needs none.",
	}}
	if client.Auth.Terminal {
		methods = append(methods, acp.AuthMethodTerminal{
			ID: authLogin, Name: "Log in to a provider", Args: []string{"--login"},
			Description: "Asks for a provider and its key on the terminal, checks it and keeps it.",
		})
	}
	return methods
}

// Authenticate implements acp.Authenticator. It succeeds when the model that new sessions get is usable.
func (a *Agent) Authenticate(_ context.Context, r *acp.AuthenticateRequest) (*acp.AuthenticateResponse, error) {
	if r.MethodID != authProvider {
		return nil, acp.InvalidParams("params/methodId: there is no method %q that is authenticated like this; use %q", r.MethodID, authProvider)
	}
	return nil, a.check(a.defaultModel(""))
}

// Logout implements acp.Logouter.
func (a *Agent) Logout(context.Context, *acp.LogoutRequest) (*acp.LogoutResponse, error) {
	if a.o.Logout == nil {
		return nil, acp.ErrMethodNotFound
	}
	if err := a.o.Logout(); err != nil {
		a.o.Log.Error("logging out", "err", err)
		return nil, errors.Join(&acp.Failure{Kind: "storage", Message: "The stored keys cannot be removed."}, err)
	}
	return nil, nil //nolint:nilnil // an empty result
}

// check says why a session with that model could not work.
func (a *Agent) check(model string) error {
	if a.o.Check == nil {
		return nil
	}
	if err := a.o.Check(model); err != nil {
		return promptError(err)
	}
	return nil
}
