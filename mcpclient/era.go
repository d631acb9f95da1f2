package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
	// probeID is the id of our own server/discover, unlike any of the SDK's.
	probeID = `"probe"`
)

// The eras of the protocol, as Client.Era says them.
const (
	EraModern = "modern"
	EraLegacy = "legacy"
)

// legacyVersions are the handshake versions that the SDK speaks.
func legacyVersions() []string {
	return []string{legacyVersion, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// finding is what the probe has found.
type finding int

const (
	foundModern finding = iota
	foundLegacy
	foundSilence
	foundExit
)

// probe asks a server which versions it has. Its error means that there is none in common, or that ctx has ended.
func (c *conn) probe(ctx context.Context, o Options, wait time.Duration) (finding, error) {
	for range 2 {
		a, found, err := c.ask(ctx, o, wait)
		if a == nil {
			return found, err
		}
		found, again, err := c.judge(a)
		if err != nil || !again {
			return found, err
		}
	}
	// Twice it has refused this version and named it as its own. It is modern, whatever it means.
	c.beModern(discovered{})
	return foundModern, nil
}

// ask sends server/discover and waits for what comes of it. Without an answer, the finding says why.
func (c *conn) ask(ctx context.Context, o Options, wait time.Duration) (*answer, finding, error) {
	request, err := probeMessage(o)
	if err != nil {
		return nil, foundExit, err
	}
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	// A server that does not read any more may still have said something, or will end; see what comes.
	if err := c.wire.send(limit, request); err != nil {
		c.log.Debug("probe not sent", "server", c.name, "err", err)
	}
	select {
	case a := <-c.probed:
		return a, foundModern, nil
	case <-c.ended:
		return nil, foundExit, nil
	case <-limit.Done():
		if err := ctx.Err(); err != nil {
			return nil, foundSilence, err
		}
		return nil, foundSilence, nil
	}
}

// probeMessage is our own server/discover.
func probeMessage(o Options) (message, error) {
	params, err := json.Marshal(map[string]any{"_meta": map[string]any{
		mcp.MetaKeyProtocolVersion:    modernVersion,
		mcp.MetaKeyClientInfo:         implementation(o),
		mcp.MetaKeyClientCapabilities: probeCapabilities(o),
	}})
	if err != nil {
		return message{}, fmt.Errorf("encoding the probe: %w", err)
	}
	return ownRequest(probeID, methodDiscover, params), nil
}

// ownRequest makes a request of our own. The id and the params are JSON.
func ownRequest(id, method string, params json.RawMessage) message {
	data := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	return message{data: data, id: id, method: method, params: params}
}

// discovered is what conn passes on of a discover result.
type discovered struct {
	Supported    []string        `json:"supportedVersions"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
}

// judge reads the answer to the probe. again asks for another.
func (c *conn) judge(a *answer) (found finding, again bool, err error) {
	if a.err != nil {
		return c.judgeError(a.err)
	}
	var d discovered
	if json.Unmarshal(a.result, &d) != nil || len(d.Supported) == 0 {
		return foundLegacy, false, nil //nolint:nilerr // an answer that is no discover result is a finding
	}
	switch {
	case slices.Contains(d.Supported, modernVersion):
		c.beModern(d)
		return foundModern, false, nil
	case common(d.Supported):
		return foundLegacy, false, nil
	}
	return foundModern, false, c.noVersion(d.Supported)
}

func (c *conn) judgeError(e *jsonrpc.Error) (found finding, again bool, err error) {
	switch e.Code {
	case mcp.CodeUnsupportedProtocolVersion:
		var d struct {
			Supported []string `json:"supported"`
		}
		if json.Unmarshal(e.Data, &d) != nil {
			d.Supported = nil
		}
		switch {
		case slices.Contains(d.Supported, modernVersion):
			return foundModern, true, nil
		case common(d.Supported):
			return foundLegacy, false, nil
		}
		return foundModern, false, c.noVersion(d.Supported)
	case -32020, -32021: // modern errors about something else than the version
		return foundModern, false, fmt.Errorf("server %s refuses this client: %w", c.name, &RPCError{
			Server: c.name, Code: e.Code, Message: e.Message, Data: e.Data,
		})
	}
	return foundLegacy, false, nil
}

func common(versions []string) bool {
	return slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(legacyVersions(), v) })
}

func (c *conn) noVersion(theirs []string) error {
	said := strings.Join(theirs, ", ")
	if said == "" {
		said = "none that it would name"
	}
	ours := append([]string{modernVersion}, legacyVersions()...)
	return fmt.Errorf("server %s: %w: it has %s; this client has %s", c.name, ErrVersion, printable(said, 300),
		strings.Join(ours, ", "))
}

// beModern makes the SDK see a modern server.
func (c *conn) beModern(d discovered) {
	caps := &mcp.ServerCapabilities{}
	if json.Unmarshal(d.Capabilities, caps) != nil {
		d.Capabilities = json.RawMessage("{}")
	}
	d.Supported = []string{modernVersion}
	raw, err := json.Marshal(d)
	if err != nil {
		raw = json.RawMessage(`{"supportedVersions":["` + modernVersion + `"],"capabilities":{}}`)
	}
	c.discover = raw
	c.modern.Store(true)
}

// connect finds a server's era and makes a session of it.
func connect(ctx context.Context, s Server, o Options) (*conn, *mcp.ClientSession, error) {
	deadline, cancel := context.WithTimeoutCause(ctx, o.Setup, errSetup)
	defer cancel()
	c, err := dial(deadline, s, o)
	if err != nil {
		return nil, nil, err
	}
	if o.unprobed {
		return c.handshake(deadline, o)
	}
	found, err := c.probe(deadline, o, o.Probe)
	if err != nil {
		if deadline.Err() != nil {
			err = explain(deadline, c, err)
		}
		c.discard()
		return nil, nil, err
	}
	switch found {
	case foundModern, foundLegacy:
		return c.handshake(deadline, o)
	case foundSilence:
		return afterSilence(deadline, c, s, o)
	case foundExit:
	}
	// Some servers of the handshake era do not survive the probe.
	first := c.cause()
	c.discard()
	if c, err = dial(deadline, s, o); err != nil {
		return nil, nil, err
	}
	c, session, err := c.handshake(deadline, o)
	if errors.Is(err, ErrEnded) {
		err = first // what it said when it was asked first
	}
	return c, session, err
}

// afterSilence tries the handshake on a server that did not answer the probe. Half of the time is for the process as
// it is: the rest is for a modern one that was slow to start, or for one that the probe has confused.
func afterSilence(ctx context.Context, c *conn, s Server, o Options) (*conn, *mcp.ClientSession, error) {
	end, _ := ctx.Deadline()
	half, cancel := context.WithTimeoutCause(ctx, time.Until(end)/2, errSetup)
	defer cancel()
	_, session, err := c.handshake(half, o)
	if err == nil {
		return c, session, nil
	}
	late := false
	select {
	case a := <-c.probed:
		found, _, bad := c.judge(a)
		if late = found == foundModern; bad != nil {
			return nil, nil, bad
		}
	default:
	}
	if ctx.Err() != nil {
		return nil, nil, err
	}
	var refusal *RPCError
	if !late {
		if c, err = dial(ctx, s, o); err != nil {
			return nil, nil, err
		}
		if c, session, err = c.handshake(ctx, o); err == nil || ctx.Err() != nil || !errors.As(err, &refusal) {
			return c, session, err
		}
	}
	// It has answered late, or has refused the handshake twice: then it may be modern, and have missed the probe.
	if c, err = dial(ctx, s, o); err != nil {
		return nil, nil, err
	}
	found, err := c.probe(ctx, o, o.Setup)
	switch {
	case err == nil && (found == foundModern || found == foundLegacy && refusal == nil):
		return c.handshake(ctx, o)
	case err != nil && ctx.Err() == nil: // it has said itself why not
	case refusal != nil:
		err = refusal
	default:
		err = errors.Join(err, c.cause(), context.Cause(ctx))
	}
	c.discard()
	return nil, nil, err
}

// handshake makes a session on a conn whose era is known, and discards the conn where that does not work.
func (c *conn) handshake(ctx context.Context, o Options) (*conn, *mcp.ClientSession, error) {
	version := legacyVersion
	if c.modern.Load() {
		version = modernVersion
	}
	client := mcp.NewClient(implementation(o), &mcp.ClientOptions{
		Capabilities:   capabilities(o),
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	client.AddReceivingMiddleware(c.questions(o.Elicit))
	if err := listenable(client); err != nil {
		c.discard()
		return nil, nil, err
	}
	session, err := client.Connect(ctx, transport{c}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		return c, session, nil
	}
	err = explain(ctx, c, err)
	c.discard()
	return nil, nil, err
}

// discard ends a conn that is of no use and waits until nothing is left of it.
func (c *conn) discard() {
	_ = c.Close()
	<-c.gone
}

func implementation(o Options) *mcp.Implementation {
	return &mcp.Implementation{Name: "cartagent", Version: o.Version}
}
