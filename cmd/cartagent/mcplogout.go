package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/cartagent/cartagent/mcpclient/oauth"
	"github.com/spf13/cobra"
)

func newMCPLogout(c console) *cobra.Command {
	var w whichServers
	cmd := &cobra.Command{
		Use:   "logout NAME|URL",
		Short: "Forget the tokens of an MCP server",
		Long: `Forgets what was stored when you signed in at a server, so that it asks you to sign in again. A server that is not
configured, such as one that an editor has passed, goes by its URL. The tokens are gone from this machine; only the
server's own pages can make them void before their time is over.

Exit codes: 0 nothing of it is stored any more, 1 it could not be removed, 2 bad usage or configuration.`,
		Example: `  cartagent mcp logout far
  cartagent mcp logout https://example.com/mcp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			return logoutServer(ctx, c, w, args[0])
		},
	}
	w.flags(cmd)
	return cmd
}

// logoutServer forgets the tokens of a server, by its name or its address.
func logoutServer(ctx context.Context, c console, w whichServers, which string) error {
	address := which
	if !strings.Contains(which, "://") {
		var err error
		if address, err = w.address(c, which); err != nil {
			return err
		}
	}
	if _, err := oauth.Canonical(address); err != nil {
		return usageError(err)
	}
	had, err := tokensIn(stateDir(c.env)).Forget(ctx, address)
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	if !had {
		c.tell(fmt.Sprintf("there were no tokens of %s to forget", shown(which)))
		return nil
	}
	c.tell(fmt.Sprintf("the tokens of %s are forgotten; it will want you to sign in again", shown(which)))
	return nil
}

// address is where the server of that name is.
func (w whichServers) address(c console, name string) (string, error) {
	all, _, err := w.all(c)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(l *listed) bool { return l.Name == name })
	switch {
	case i < 0:
		err := fmt.Errorf("there is no server %q; one that is not configured goes by its URL", name)
		if kept := keptTokens(c); len(kept) > 0 {
			err = fmt.Errorf("%w. There are tokens of %s", err, strings.Join(kept, ", "))
		}
		return "", usageError(err)
	case all[i].URL == "":
		return "", usageError(fmt.Errorf("the server %s has a command, and no tokens are kept for those", shown(name)))
	case all[i].ready != nil:
		return all[i].ready.URL, nil
	case len(references(all[i].URL)) > 0: // it is off, or broken
		return "", usageError(fmt.Errorf("the server %s has a URL with variables in it, and is %s: give its URL instead", shown(name), all[i].State))
	}
	return all[i].URL, nil
}

// keptTokens are the addresses of the servers that there are tokens of.
func keptTokens(c console) []string {
	list, err := tokensIn(stateDir(c.env)).List()
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range list {
		if s.Server != "" {
			out = append(out, shown(s.Server))
		}
	}
	return out
}

// forgetTokens forgets the tokens of a server that was taken out of the configuration, unless another one that is left there
// has the same address. addresses are those of all that were in it, by their names.
func forgetTokens(ctx context.Context, c console, name string, addresses map[string]string) error {
	gone, err := oauth.Canonical(addresses[name])
	if err != nil {
		return nil //nolint:nilerr // it had a command, or an address that cannot be told here: there is nothing to forget
	}
	for other, address := range addresses {
		if same, err := oauth.Canonical(address); other != name && err == nil && same == gone {
			return nil
		}
	}
	had, err := tokensIn(stateDir(c.env)).Forget(ctx, gone)
	if err != nil {
		return &exitCode{code: exitError, err: errors.Join(fmt.Errorf("%s is no longer configured, but its tokens are still stored", shown(name)), err)}
	}
	if had {
		c.tell("its tokens are forgotten")
	}
	return nil
}

// addressesIn are the URLs of the servers in a configuration, as far as they can be told, by name.
func addressesIn(c console, data []byte) map[string]string {
	out := make(map[string]string)
	top, err := configMembers(data)
	if err != nil {
		return out
	}
	for _, m := range top {
		if m.key != "mcpServers" {
			continue
		}
		all, err := members(m.value)
		if err != nil {
			return out
		}
		for _, one := range all {
			if address := addressIn(c, one.value); address != "" {
				out[one.key] = address
			}
		}
	}
	return out
}

// addressIn is the URL of a server as a file has it, with its variables put in; empty where it has none, or they are not
// set.
func addressIn(c console, raw json.RawMessage) string {
	var s struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	unset := false
	e := &expander{env: c.env, fail: func(string, error) { unset = true }}
	if address := e.text("", s.URL); !unset {
		return address
	}
	return ""
}
