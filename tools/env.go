package tools

import (
	"slices"
	"strings"
)

// TerminalEnv picks from an environment what commands get of it: who and where the person is, the language, the
// caches and places of common tools, proxies, and the agents of ssh and gpg by their sockets. Everything else stays
// out, and so do the keys of model providers and other secrets. TERM is dumb, so that programs print plainly.
func TerminalEnv(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && name != "TERM" && passed(name) {
			out = append(out, kv)
		}
	}
	return append(out, "TERM=dumb")
}

func passed(name string) bool {
	if strings.HasPrefix(name, "LC_") {
		return true
	}
	return slices.Contains([]string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
		"GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOSUMDB",
		"GONOPROXY", "GOFLAGS", "GOTOOLCHAIN", "GOMAXPROCS", "GOENV", "CGO_ENABLED",
		"NODE_PATH", "NVM_DIR", "NPM_CONFIG_CACHE", "npm_config_cache", "PNPM_HOME", "YARN_CACHE_FOLDER",
		"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "GRADLE_USER_HOME", "VIRTUAL_ENV", "PYENV_ROOT", "PIP_CACHE_DIR",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DOCKER_HOST",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"CI", "NO_COLOR", "SystemRoot", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC",
	}, name)
}
