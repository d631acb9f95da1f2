package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/cartagent/cartagent/cart"
	"github.com/spf13/cobra"
)

func newCart(c console) *cobra.Command {
	var menu string
	o := cart.Options{}
	cmd := &cobra.Command{
		Use:   "cart",
		Short: "Run the coffee cart, an MCP server on stdin and stdout",
		Long: `Runs the coffee cart: an MCP server (revision 2026-07-28) on stdin and stdout, with tools to take an order and the
menu as a resource. The name in CART_CALLER is whose orders they are. Logs go to stderr.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if menu != "" {
				items, err := readMenu(menu)
				if err != nil {
					return usageError(err)
				}
				o.Menu = items
			}
			if o.Expire <= 0 {
				return usageError(fmt.Errorf("--expire %s: an order must last for some time", o.Expire))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			o.Caller, o.Log = c.env("CART_CALLER"), newLogger(c)
			if err := cart.Serve(ctx, c.in, c.out, o); err != nil {
				return &exitCode{code: exitError, err: err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&menu, "menu", "", "a JSON file with today's menu: [{\"name\", \"cents\": N or {\"small\", \"medium\", \"large\"}, \"soldOut\"}]")
	cmd.Flags().DurationVar(&o.Expire, "expire", cart.DefaultExpire, "how long an order stays open")
	cmd.Flags().BoolVar(&o.Legacy, "legacy", false, "also serve MCP clients of the handshake era (2025-11-25)")
	return cmd
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
