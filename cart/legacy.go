package cart

// legacyVersions are the revisions of the handshake era that the cart's answers are valid in, the newest first. Batches,
// which 2025-03-26 alone has, are refused in it too.
func legacyVersions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

// isLegacy reports whether the request belongs to the handshake era. A request that names a version in _meta never
// does, so both eras can be served over one connection; one that names none counts as legacy only after a handshake.
func (r request) isLegacy(env Env) bool {
	if !env.Legacy {
		return false
	}
	if r.method == "initialize" {
		return true
	}
	meta, _ := asObject(r.params["_meta"])
	_, modern := meta[metaVersion]
	return env.Opened && !modern
}

// handleLegacy answers a request of the handshake era. Its results are the same without what that era does not know.
func handleLegacy(store Store, req request, env Env) step {
	switch req.method {
	case "initialize":
		return initialize(store, req.params, env)
	case "ping":
		return store.answer(body{})
	case "server/discover":
		return store.refuse(fail(codeMethodNotFound, "Method not found: server/discover needs _meta with a protocol version"))
	}
	// No capabilities: this era's server would have to ask the person by a request of its own. The cart tells the
	// model what to ask instead.
	next := dispatch(store, req, env, nil)
	if next.failure != nil {
		if req.method == "resources/read" && next.failure.Data != nil {
			next.failure.Code = codeLegacyNotFound
		}
		return next
	}
	for _, modern := range []string{"resultType", "ttlMs", "cacheScope"} {
		delete(next.result, modern)
	}
	return next
}

func initialize(store Store, params object, env Env) step {
	asked, ok := asString(params["protocolVersion"])
	if !ok {
		return store.refuse(fail(codeInvalidParams, "initialize needs protocolVersion, a string such as %q", legacyVersions()[0]))
	}
	if _, ok := asObject(params["capabilities"]); !ok {
		return store.refuse(fail(codeInvalidParams, "initialize needs capabilities, an object that may be empty"))
	}
	if !isImplementation(params["clientInfo"]) {
		return store.refuse(fail(codeInvalidParams, "initialize needs clientInfo, an object with the strings name and version"))
	}
	speak := legacyVersions()[0]
	for _, version := range legacyVersions() {
		if version == asked {
			speak = version
		}
	}
	return store.answer(body{
		"protocolVersion": speak,
		"capabilities":    serverCapabilities(),
		"serverInfo":      serverInfo(),
		"instructions":    instructions(env),
	})
}
