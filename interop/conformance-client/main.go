// Command conformance-client is mcpclient as the MCP conformance suite drives it: once for each scenario, which
// $MCP_CONFORMANCE_SCENARIO names, with the URL of the server as the last argument.
//
//	go run ./interop/conformance-client URL
//
// It says nothing on stdout and exits with 0 when it could do its part. See TestConformanceClient.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/charmbracelet/log"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance-client:", err)
		os.Exit(1)
	}
}

// scenario is the client's part in one scenario.
type scenario struct {
	elicit mcpclient.ElicitFunc // nil where no question may come
	play   func(ctx context.Context, c *mcpclient.Client, given given) error
}

// given is what a scenario tells the client.
type given struct {
	identity
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"initialize":                          {play: list},
		"request-metadata":                    {play: list},
		"json-schema-ref-no-deref":            {play: list},
		"tools_call":                          {play: call("add_numbers", `{"a":5,"b":3}`)},
		"sse-retry":                           {play: call("test_reconnection", `{}`)},
		"elicitation-sep1034-client-defaults": {elicit: accept(`{}`), play: call("test_client_elicitation_defaults", `{}`)},
		"sep-2322-client-request-state":       {elicit: accept(`{"confirmed":true}`), play: rounds},
		"http-standard-headers":               {play: everything},
		"http-custom-headers":                 {play: givenCalls},
		"http-invalid-tool-headers":           {play: survivors},
		"json-schema-2020-12-preservation":    {play: schema},
	}
}

func run(ctx context.Context, args []string, env func(string) string) error {
	if len(args) == 0 {
		return errors.New("the last argument must be the URL of a server")
	}
	name := env("MCP_CONFORMANCE_SCENARIO")
	s, ok := scenarios()[name]
	if strings.HasPrefix(name, "auth/") { // the part is the same in all of them
		s, ok = scenario{play: call("test-tool", `{}`)}, true
	}
	if !ok {
		return fmt.Errorf("the scenario %q is not known", name)
	}
	var g given
	if raw := env("MCP_CONFORMANCE_CONTEXT"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &g); err != nil {
			return fmt.Errorf("reading $MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	server := mcpclient.Server{Name: "suite", URL: args[len(args)-1], Timeout: 20 * time.Second}
	logger := log.NewWithOptions(os.Stderr, log.Options{Level: log.DebugLevel})
	authorize, err := g.authorizer(name, server.URL, logger)
	if err != nil {
		return err
	}
	c, err := mcpclient.Connect(ctx, server, mcpclient.Options{
		Log: logger, Version: "0.0.0", Elicit: s.elicit, Authorize: authorize,
		Setup: 25 * time.Second, Probe: 10 * time.Second, // the suite starts some forty of these at once
	})
	if err != nil {
		return err
	}
	return errors.Join(s.play(ctx, c, g), c.Close())
}

// accept answers every question with the same content.
func accept(content string) mcpclient.ElicitFunc {
	return func(context.Context, mcpclient.Question) (mcpclient.Answer, error) {
		return mcpclient.Answer{Action: mcpclient.ActionAccept, Content: json.RawMessage(content)}, nil
	}
}

func list(ctx context.Context, c *mcpclient.Client, _ given) error {
	_, err := c.Tools(ctx)
	return err
}

// tools lists the tools by their names at the server.
func tools(ctx context.Context, c *mcpclient.Client) ([]*mcpclient.Tool, error) {
	listed, err := c.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var out []*mcpclient.Tool
	for _, t := range listed {
		if tool, ok := t.(*mcpclient.Tool); ok {
			out = append(out, tool)
		}
	}
	return out, nil
}

// runTool calls a tool that was listed, as a session of the agent does.
func runTool(ctx context.Context, c *mcpclient.Client, name string, args json.RawMessage) error {
	all, err := tools(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Original() == name {
			_, err := t.Run(ctx, loop.Job{Call: loop.Call{ID: "call", Args: args}}, func(loop.Block) {})
			return err
		}
	}
	return fmt.Errorf("there is no tool %s", name)
}

func call(name, args string) func(context.Context, *mcpclient.Client, given) error {
	return func(ctx context.Context, c *mcpclient.Client, _ given) error {
		return runTool(ctx, c, name, json.RawMessage(args))
	}
}

// rounds makes the calls whose answers ask for input first.
func rounds(ctx context.Context, c *mcpclient.Client, _ given) error {
	var failed []error
	for _, name := range []string{
		"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type",
	} {
		failed = append(failed, runTool(ctx, c, name, json.RawMessage(`{}`)))
	}
	return errors.Join(failed...)
}

// everything lists and gets one of each kind. What the server lacks does not matter.
func everything(ctx context.Context, c *mcpclient.Client, _ given) error {
	all, err := tools(ctx, c)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		_, err = all[0].Run(ctx, loop.Job{Call: loop.Call{ID: "call", Args: json.RawMessage(`{}`)}}, func(loop.Block) {})
		note(err)
	}
	resources, err := c.Resources(ctx)
	note(err)
	if len(resources) > 0 {
		_, err = c.ReadResource(ctx, resources[0].URI)
		note(err)
	}
	prompts, err := c.Prompts(ctx)
	note(err)
	if len(prompts) > 0 {
		_, err = c.Prompt(ctx, prompts[0].Name, map[string]string{})
		note(err)
	}
	return nil
}

// note says what went wrong where the scenario does not mind.
func note(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance-client: noted:", err)
	}
}

// givenCalls makes the calls that the scenario gives, which may name tools with odd arguments.
func givenCalls(ctx context.Context, c *mcpclient.Client, g given) error {
	if _, err := c.Tools(ctx); err != nil {
		return err
	}
	for _, one := range g.ToolCalls {
		_, err := c.Call(ctx, mcpclient.CallParams{Name: one.Name, Args: one.Arguments})
		note(err)
	}
	return nil
}

// survivors calls all tools that were not left out.
func survivors(ctx context.Context, c *mcpclient.Client, _ given) error {
	all, err := tools(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range all {
		_, err := c.Call(ctx, mcpclient.CallParams{Name: t.Original(), Args: json.RawMessage(`{"region":"us-west1"}`)})
		note(err)
	}
	return nil
}

// schema sends a tool's schema back as it was seen.
func schema(ctx context.Context, c *mcpclient.Client, _ given) error {
	all, err := tools(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Original() == "json_schema_2020_12_tool" {
			args, err := json.Marshal(map[string]json.RawMessage{"schema": t.Spec().Schema})
			if err != nil {
				return err
			}
			_, err = c.Call(ctx, mcpclient.CallParams{Name: "json_schema_echo", Args: args})
			return err
		}
	}
	return errors.New("there is no tool json_schema_2020_12_tool")
}
