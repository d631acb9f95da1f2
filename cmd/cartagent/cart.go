package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/cartagent/cartagent/cart"
	"github.com/spf13/cobra"
)

// cartFlags are what `cartagent cart` can be told.
type cartFlags struct {
	http, menu, store, tokens string
	rate                      int
}

func newCart(c console) *cobra.Command {
	var f cartFlags
	o := cart.Options{}
	cmd := &cobra.Command{
		Use:   "cart",
		Short: "Run the coffee cart, an MCP server on stdin and stdout or over HTTP",
		Long: `Runs the coffee cart: an MCP server (revision 2026-07-28) with tools to take an order and the menu as a resource. It
speaks on stdin and stdout, where the name in CART_CALLER is whose orders they are; with --http it listens there, at
/mcp, and prints its URL to stderr. Logs go to stderr.

    cartagent cart --http 127.0.0.1:8080 --store orders.db

Without --token-file anybody on this machine may order over HTTP, as "local", and it listens on no other address than
this machine's own. With it a caller needs a token of that file, a line of which is: NAME TOKEN.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			o.Log = newLogger(c)
			return runCart(ctx, c, f, o)
		},
	}
	flags := cmd.Flags()
	flags.Var(nonempty(&f.http), "http", "listen for HTTP on this address, such as 127.0.0.1:8080; port 0 takes any that is free")
	flags.Var(nonempty(&f.menu), "menu", "a JSON file with today's menu: [{\"name\", \"cents\": N or {\"small\", \"medium\", \"large\"}, \"soldOut\"}]")
	flags.Var(nonempty(&f.store), "store", "keep the orders in this SQLite file; several carts may share it")
	flags.DurationVar(&o.Expire, "expire", cart.DefaultExpire, "how long an order stays open")
	flags.Var(nonempty(&f.tokens), "token-file", "with --http: let in only who has a bearer token of this file")
	flags.IntVar(&f.rate, "rate", 0, "with --http: how many calls a minute each caller has; 0 for any number")
	flags.BoolVar(&o.Legacy, "legacy", false, "also serve MCP clients of the handshake era (2025-11-25)")
	return cmd
}

// runCart checks the flags, opens what they name and serves until ctx or the input ends.
func runCart(ctx context.Context, c console, f cartFlags, o cart.Options) error {
	switch {
	case o.Expire <= 0:
		return usageError(fmt.Errorf("--expire %s: an order must last for some time", o.Expire))
	case f.rate < 0:
		return usageError(fmt.Errorf("--rate %d: give a number of calls a minute, or 0 for no limit", f.rate))
	case f.http == "" && (f.tokens != "" || f.rate != 0):
		return usageError(errors.New("--token-file and --rate are for callers over HTTP: give --http ADDR too"))
	}
	if f.menu != "" {
		items, err := readMenu(f.menu)
		if err != nil {
			return usageError(err)
		}
		o.Menu = items
	}
	listener, h, err := f.listen(ctx)
	if err != nil {
		return err
	}
	if listener != nil {
		defer func() { _ = listener.Close() }() // ServeHTTP has closed it, if it came to that
	}
	var file *cart.File
	if f.store != "" {
		if file, err = cart.OpenFile(ctx, f.store); err != nil {
			return usageError(err)
		}
		o.Book = file
	}
	if listener != nil {
		c.tell("the coffee cart listens on http://" + listener.Addr().String() + "/mcp")
		err = cart.ServeHTTP(ctx, listener, o, h)
	} else {
		o.Caller = c.env("CART_CALLER")
		err = cart.Serve(ctx, c.in, c.out, o)
	}
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	return nil
}

// listen begins to listen where --http says so; no listener where it does not.
func (f cartFlags) listen(ctx context.Context) (net.Listener, cart.HTTPOptions, error) {
	h := cart.HTTPOptions{Rate: f.rate}
	if f.http == "" {
		return nil, h, nil
	}
	if f.tokens != "" {
		tokens, err := readTokens(f.tokens)
		if err != nil {
			return nil, h, usageError(err)
		}
		h.Tokens = tokens
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", f.http)
	if err != nil {
		return nil, h, usageError(fmt.Errorf("--http %s: %w", f.http, err))
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		h.Public = true
	}
	if h.Public && h.Tokens == nil {
		return nil, h, errors.Join(usageError(fmt.Errorf("--http %s is open to other machines: give --token-file FILE, or listen on 127.0.0.1", f.http)), listener.Close())
	}
	return listener, h, nil
}

func readMenu(file string) (cart.Menu, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the menu: %w", err)
	}
	defer func() { _ = f.Close() }()
	items, err := cart.ParseMenu(f)
	if err != nil {
		return nil, fmt.Errorf("the menu %s: %w", file, err)
	}
	return items, nil
}

func readTokens(file string) (*cart.Tokens, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	defer func() { _ = f.Close() }()
	tokens, err := cart.ParseTokens(f)
	if err != nil {
		return nil, fmt.Errorf("the token file %s: %w", file, err)
	}
	return tokens, nil
}
