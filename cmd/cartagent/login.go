package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/charmbracelet/log"
	"github.com/spf13/cobra"
)

type loginFlags struct {
	flags
	provider, baseURL string
	keyStdin, noCheck bool
}

func newLogin(c console) *cobra.Command {
	var f loginFlags
	var status bool
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Store the key of a model provider",
		Long: `Asks on the terminal for a provider and a key, which is not shown, checks it with the provider, and stores it in
credentials.json in the configuration folder, readable by you alone. Keys in the environment win over stored ones.

Scripts name the provider and write the key to stdin. Exit codes: 0 the key is stored, 1 it could not be checked or
stored, 2 bad usage or a refused key.`,
		Example: `  cartagent login
  cartagent login --provider anthropic --key-stdin <key.txt
  cartagent login --status`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if status {
				return loginStatus(c)
			}
			return login(cmd.Context(), c, f)
		},
	}
	cmd.Flags().Var(nonempty(&f.provider), "provider", "the provider: "+providerIDs())
	cmd.Flags().Var(nonempty(&f.baseURL), "base-url", "the address that the key is for (default: that of the environment, else the provider's own)")
	cmd.Flags().BoolVar(&f.keyStdin, "key-stdin", false, "read the key from stdin and ask nothing")
	cmd.Flags().BoolVar(&f.noCheck, "no-check", false, "store the key without asking the provider about it")
	cmd.Flags().BoolVar(&status, "status", false, "show which keys are there and which model is used")
	for _, other := range []string{"provider", "base-url", "key-stdin", "no-check"} {
		cmd.MarkFlagsMutuallyExclusive("status", other)
	}
	return cmd
}

func newLogout(c console) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Forget stored keys",
		Long:  "Forgets the stored keys of a provider, or all of them. Those of the environment stay in force.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return logout(c, name)
		},
	}
	cmd.Flags().Var(nonempty(&name), "provider", "forget only that provider's key: "+providerIDs())
	return cmd
}

func providerIDs() string {
	var ids []string
	for _, p := range providers() {
		ids = append(ids, p.id)
	}
	return strings.Join(ids, ", ")
}

func noProvider(name string) error {
	return usageError(fmt.Errorf("there is no provider %q that has keys: use one of %s", name, providerIDs()))
}

// login finds out the provider and its key, checks the key and stores it.
func login(ctx context.Context, c console, f loginFlags) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	defer stop()
	tty, _ := c.in.(*os.File)
	switch {
	case f.keyStdin && f.provider == "":
		return usageError(errors.New("--key-stdin needs --provider: one of " + providerIDs()))
	case f.keyStdin && isTerminal(c.in):
		return usageError(errors.New("stdin is a terminal, which would show the key: leave out --key-stdin and login asks for it"))
	case !f.keyStdin && !isTerminal(c.in):
		return usageError(errors.New("login asks its questions on a terminal, and there is none; " +
			"in scripts, use `cartagent login --provider P --key-stdin` with the key on stdin"))
	}
	file := keyFileIn(configDir(c.env))
	_, note, err := file.read()
	if err != nil {
		return usageError(err)
	}
	if note != "" {
		c.tell(note)
	}
	p, k, err := f.find(ctx, &person{console: c, tty: tty, in: bufio.NewReader(c.in)})
	switch {
	case err != nil && ctx.Err() != nil:
		return &exitCode{code: exitCancelled, err: errors.New("interrupted; no key is stored")}
	case err != nil:
		return err
	}
	if err := file.store(p.id, k); err != nil {
		return &exitCode{code: exitError, err: err}
	}
	c.tell("the key for " + p.name + " is stored in " + file.path + "; `cartagent logout` forgets it")
	if envKeys(c.env)[p.id].key != "" {
		c.tell(p.keyVar + " is set, and wins over the stored key as long as it is")
	}
	tellModel(c, f.flags)
	return nil
}

// find is the key that the flags and the person give, once its provider has taken it.
func (f loginFlags) find(ctx context.Context, ask *person) (provider, credentials, error) {
	p, err := ask.provider(ctx, f.provider)
	if err != nil {
		return p, credentials{}, err
	}
	base := f.baseURL
	if base == "" {
		base = ask.console.env(p.urlVar)
	}
	client := p.client("", base)
	if f.baseURL != "" {
		client.URLVar = "--base-url"
	}
	if err := client.Check(base); err != nil {
		return p, credentials{}, usageError(err)
	}
	check := func(key string) error {
		if f.noCheck {
			return nil
		}
		return p.check(ctx, credentials{key: key, baseURL: base})
	}
	var key string
	if f.keyStdin {
		key, err = ask.script(ctx, check)
	} else {
		key, err = ask.key(ctx, p, base, check)
	}
	return p, credentials{key: key, baseURL: base}, err
}

// tellModel says what comes of the keys as they are now.
func tellModel(c console, f flags) {
	cfg, err := loadConfig(c.env, f)
	if err != nil {
		c.tell("the configuration has a problem yet: " + err.Error())
		return
	}
	c.tell("the model in use is " + modelLine(cfg))
}

func modelLine(cfg *config) string {
	why := "whose key is there; choose another with CARTAGENT_MODEL or --model"
	switch {
	case cfg.chosen:
		why = "as configured"
	case cfg.Model == offlineModel:
		why = "the offline one, since there is no key"
	}
	if _, err := newModels(cfg, log.New(io.Discard)).get(cfg.Model, ""); err != nil {
		why += ". " + err.Error()
	}
	return cfg.Model + ", " + why
}

// address is a base URL without what may be secret in it.
func address(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "an address that is none"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

func loginStatus(c console) error {
	cfg, err := loadConfig(c.env, flags{})
	if err != nil {
		return err
	}
	for _, n := range cfg.notes {
		c.tell(n)
	}
	var b strings.Builder
	for _, p := range providers() {
		k := cfg.keys[p.id]
		what := "no key"
		switch {
		case k.key != "" && k.stored:
			what = "key " + tail(k.key) + ", stored"
		case k.key != "":
			what = "key " + tail(k.key) + ", set by " + p.keyVar
		}
		if k.baseURL != "" {
			what += ", at " + address(k.baseURL)
		}
		fmt.Fprintf(&b, "%-10s %s\n", p.id, what)
	}
	fmt.Fprintf(&b, "%-10s %s\n", "model", modelLine(cfg))
	if cfg.dir != "" {
		fmt.Fprintf(&b, "%-10s %s\n", "stored in", cfg.keyFile().path)
	}
	if _, err := io.WriteString(c.out, b.String()); err != nil {
		return &exitCode{code: exitError, err: fmt.Errorf("writing the status: %w", err)}
	}
	return nil
}

// tail is enough of a key to tell it from another, and not enough to use it.
func tail(key string) string {
	if len(key) < 16 || wrongKey(key) != "" {
		return "(not shown)"
	}
	return "…" + key[len(key)-4:]
}

func logout(c console, name string) error {
	what := "the stored keys are forgotten"
	if name != "" {
		p, ok := providerNamed(name)
		if !ok {
			return noProvider(name)
		}
		name, what = p.id, "the stored key for "+p.name+" is forgotten"
	}
	had, err := keyFileIn(configDir(c.env)).forget(name)
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	if !had {
		what = "there was no stored key to forget"
	}
	c.tell(what)
	for _, p := range providers() {
		if (name == "" || name == p.id) && c.env(p.keyVar) != "" {
			c.tell(p.keyVar + " is set in the environment and stays in force; unset it there")
		}
	}
	return nil
}
