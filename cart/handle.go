package cart

import (
	"encoding/json"
	"fmt"
	"time"
)

// DefaultExpire is how long an order stays open when nothing else is said.
const DefaultExpire = 30 * time.Minute

// Freshness hints: lists keep five minutes, the menu one, since items sell out.
const (
	listTTL = 5 * time.Minute
	menuTTL = time.Minute
)

// Env is what the core cannot know by itself about one message.
type Env struct {
	Caller string // who is calling; handles made for others open nothing for this one
	Now    int64  // Unix milliseconds
	Handle string // a handle that nobody can guess and that was never used, for an order this message may start

	Menu   Menu          // nil for DefaultMenu
	Expire time.Duration // 0 for DefaultExpire

	// Legacy lets initialize open a connection of the handshake era (2025-11-25 and before) as well. Opened says
	// that the message comes over a connection where it has: there a request without _meta is of that era.
	Legacy, Opened bool
}

func (e Env) withDefaults() Env {
	if e.Menu == nil {
		e.Menu = DefaultMenu()
	}
	if e.Expire <= 0 {
		e.Expire = DefaultExpire
	}
	return e
}

// step is what a request leads to: the next store and either a result or a failure.
type step struct {
	store   Store
	result  body
	failure *Error
	changed []Key
}

func (s Store) answer(result body) step    { return step{store: s, result: result} }
func (s Store) refuse(failure *Error) step { return step{store: s, failure: failure} }
func (s Store) refuseParams(format string) step {
	return s.refuse(fail(codeInvalidParams, "%s", format))
}

// Handle answers one message: it returns the store that follows and the reply. It is pure and total. The store it was
// given stays as it was, any bytes are a message, and the same arguments give the same answer.
func Handle(store Store, message json.RawMessage, env Env) (Store, Reply) {
	return parse(message).handle(store, env)
}

// handle is Handle for a message that was read already.
func (r request) handle(store Store, env Env) (Store, Reply) {
	reply := r.reply()
	reply.Error = r.fault
	if r.fault != nil || r.silent {
		return store, reply
	}
	env = env.withDefaults()
	var next step
	if r.isLegacy(env) {
		next = handleLegacy(store, r, env)
	} else {
		next = handleModern(store, r, env)
	}
	reply.Error = next.failure
	reply.Changed = next.changed
	if next.failure == nil {
		reply.Result = next.result
	}
	return next.store, reply
}

// reply is one to r that says nothing yet.
func (r request) reply() Reply { return Reply{JSONRPC: "2.0", ID: r.id, Method: r.method} }

// handleModern answers a request of revision 2026-07-28, which says itself which version it speaks.
func handleModern(store Store, req request, env Env) step {
	if req.method == "initialize" {
		return store.refuse(&Error{
			Code:    codeMethodNotFound,
			Message: "initialize belongs to the handshake era; this server speaks " + Version + ", which has no handshake: start with server/discover",
			Data:    body{"supported": []string{Version}},
		})
	}
	capabilities, failure := checkMeta(req.params)
	if failure != nil {
		failure.meta = true
		return store.refuse(failure)
	}
	next := dispatch(store, req, env, capabilities)
	if next.failure == nil {
		if _, ok := next.result["resultType"]; !ok {
			next.result["resultType"] = "complete"
		}
		next.result["_meta"] = body{metaServerInfo: serverInfo()}
	}
	return next
}

// dispatch is the one map from methods to what answers them.
func dispatch(store Store, req request, env Env, capabilities object) step {
	switch req.method {
	case "server/discover":
		return store.answer(cached(listTTL, body{
			"supportedVersions": []string{Version},
			"capabilities":      serverCapabilities(),
			"instructions":      instructions(env),
		}))
	case "tools/list":
		return store.list(req, "tools", toolList(env))
	case "resources/list":
		return store.list(req, "resources", resourceList())
	case "resources/templates/list":
		return store.list(req, "resourceTemplates", []body{})
	case "prompts/list":
		return store.list(req, "prompts", promptList())
	case "resources/read":
		return readResource(store, req.params, env)
	case "prompts/get":
		return getPrompt(store, req.params, env)
	case "tools/call":
		return callTool(store, req.params, env, capabilities)
	default:
		return store.refuse(fail(codeMethodNotFound, "Method not found: %s", clip(req.method)))
	}
}

// list answers with the only page there is.
func (s Store) list(req request, name string, entries []body) step {
	if cursor, given := req.params["cursor"]; given {
		return s.refuse(fail(codeInvalidParams, "Unknown cursor %s: the list has one page, ask for it without a cursor", clip(string(cursor))))
	}
	return s.answer(cached(listTTL, body{name: entries}))
}

func cached(ttl time.Duration, result body) body {
	result["ttlMs"] = ttl.Milliseconds()
	result["cacheScope"] = "public"
	return result
}

func serverInfo() body {
	return body{"name": serverName, "title": serverTitle, "version": serverVersion}
}

func serverCapabilities() body { return body{"tools": body{}, "resources": body{}, "prompts": body{}} }

func instructions(env Env) string {
	return fmt.Sprintf("Takes pickup orders for a coffee cart. Read menu://today, start with create_order, add items one by one, "+
		"tell the customer the lines and the total, and call place_order only once they agree. Prices are in cents. "+
		"An order that is not placed expires %s after it was started.", spoken(env.Expire))
}

// checkMeta holds a request's _meta against the revision and gives what the client declared.
func checkMeta(params object) (object, *Error) {
	meta, ok := asObject(params["_meta"])
	if !ok {
		return nil, fail(codeInvalidParams, "params._meta must be an object with %s and %s", metaVersion, metaClient)
	}
	version, ok := asString(meta[metaVersion])
	if !ok {
		return nil, fail(codeInvalidParams, "_meta needs %s, a string such as %q", metaVersion, Version)
	}
	capabilities, ok := asObject(meta[metaClient])
	if !ok {
		return nil, fail(codeInvalidParams, "_meta needs %s, an object that may be empty", metaClient)
	}
	if version != Version {
		return nil, &Error{
			Code:    codeUnsupportedVersion,
			Message: "Unsupported protocol version",
			Data:    body{"supported": []string{Version}, "requested": version},
		}
	}
	return capabilities, checkOptionalMeta(meta)
}

func checkOptionalMeta(meta object) *Error {
	if raw, given := meta["progressToken"]; given && !validID(raw) {
		return fail(codeInvalidParams, "_meta.progressToken must be a string or an integer")
	}
	if raw, given := meta[metaClientInfo]; given && !isImplementation(raw) {
		return fail(codeInvalidParams, "_meta %s must be an object with the strings name and version", metaClientInfo)
	}
	raw, given := meta[metaLogLevel]
	if !given {
		return nil
	}
	switch level, _ := asString(raw); level {
	case "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency":
		return nil
	default:
		return fail(codeInvalidParams, "_meta %s must be a log level such as info", metaLogLevel)
	}
}

func isImplementation(raw json.RawMessage) bool {
	info, ok := asObject(raw)
	_, hasName := asString(info["name"])
	_, hasVersion := asString(info["version"])
	return ok && hasName && hasVersion
}

// spoken is a duration as one would say it.
func spoken(d time.Duration) string {
	if d%time.Minute == 0 {
		if d == time.Minute {
			return "1 minute"
		}
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return d.String()
}
