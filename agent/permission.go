package agent

import (
	"context"
	"errors"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// gate asks the client's person. It implements loop.Gate.
type gate struct {
	client  *acp.ClientConn
	session acp.SessionID
}

// Ask waits as long as the turn lasts. Whatever is not one of the options is no approval.
func (g *gate) Ask(ctx context.Context, c loop.Call, p loop.Preview, opts []loop.Option) (loop.Outcome, error) {
	options := make([]acp.PermissionOption, len(opts))
	for i, o := range opts {
		options[i] = acp.PermissionOption{
			OptionID: acp.PermissionOptionID(o.Kind), Name: o.Name, Kind: acp.PermissionOptionKind(o.Kind),
		}
	}
	update := acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(c.ID), RawInput: c.Args, Locations: locationsOf(p.Locations)}
	if p.Title != "" {
		update.Title = &p.Title
	}
	if len(p.Display) > 0 {
		update.Content = contentsOf(p.Display)
	}
	answer, err := g.client.RequestPermission(ctx, &acp.RequestPermissionRequest{
		SessionID: g.session, ToolCall: update, Options: options,
	})
	var refusal *acp.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == acp.CodeMethodNotFound:
		return "", errors.New("the client cannot ask for permission")
	case err != nil:
		return "", err
	}
	if chosen, ok := answer.Outcome.(acp.Selected); ok {
		for _, o := range opts {
			if string(o.Kind) == string(chosen.OptionID) {
				return o.Kind, nil
			}
		}
		return loop.RejectOnce, nil
	}
	return loop.Dismissed, nil
}
