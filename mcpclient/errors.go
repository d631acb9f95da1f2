package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The errors that callers tell apart, with errors.Is.
var (
	// ErrEnded means that the server's process has ended, or closed its output.
	ErrEnded = errors.New("it must be started again")
	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("the connection is closed")
	// ErrTimeout means that the server took too long.
	ErrTimeout = errors.New("no answer in time")
	// ErrLost means that a request was sent and its answer did not arrive.
	ErrLost = errors.New("the connection broke before the answer came, and whether the call took effect is not known")
	// ErrAuth means that a server at a URL does not let this client in.
	ErrAuth = errors.New("the server wants authorization")
	// ErrUnreachable means that a server at a URL could not be asked: nothing was sent.
	ErrUnreachable = errors.New("it cannot be reached")
	// ErrVersion means that client and server have no version of the protocol in common.
	ErrVersion = errors.New("no version of MCP in common")
	// ErrInput means that the server asked for input, which this client did not say it could give.
	ErrInput = errors.New("the server asks for input that this client cannot give")
	// ErrInvalid means that the server's answer breaks the protocol.
	ErrInvalid = errors.New("the answer is not valid MCP")

	errSetup = errors.New("it was not ready in time")
)

// RPCError is a server's JSON-RPC error.
type RPCError struct {
	Server  string
	Code    int64
	Message string
	Data    json.RawMessage // nil when there was none
}

// Error says which server, what, and the code, for a model as well as for a person.
func (e *RPCError) Error() string {
	text := fmt.Sprintf("server %s answered with an error: %s (code %d)", e.Server, printable(e.Message, 2000), e.Code)
	if len(e.Data) > 0 && string(e.Data) != "null" {
		text += " " + printable(string(e.Data), 1000)
	}
	return text
}

// explain turns an error of the SDK into one that says what has happened to the server.
func explain(ctx context.Context, c *conn, err error) error {
	var rpc *jsonrpc.Error
	cause := c.cause()
	if errors.As(err, &rpc) {
		if own := c.failure(rpc.Data); own != nil {
			return own
		}
	}
	switch {
	case rpc != nil:
		return &RPCError{Server: c.name, Code: rpc.Code, Message: rpc.Message, Data: rpc.Data}
	case errors.Is(cause, ErrEnded):
		return fmt.Errorf("%w; whether the request took effect is not known", cause)
	case errors.Is(context.Cause(ctx), errSetup):
		return fmt.Errorf("server %s: %w: %w%s", c.name, errSetup, ErrTimeout, c.wire.lastWords())
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return fmt.Errorf("server %s: %w; the request was cancelled, and whether it took effect is not known",
			c.name, context.Cause(ctx))
	case ctx.Err() != nil:
		return ctx.Err()
	case cause != nil:
		return cause
	}
	for _, named := range []error{ErrAuth, ErrUnreachable, errRedirect, ErrLost, ErrInvalid, ErrVersion} {
		if errors.Is(err, named) { // it is ours, and names the server
			return err
		}
	}
	return fmt.Errorf("server %s: %w", c.name, err)
}
