//go:build unix

package mcpclient_test

import (
	"context"
	"fmt"
	"os"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
)

// A program that is an MCP server on stdio is started, asked for its tools, and one of them is called.
func ExampleConnect() {
	ctx := context.Background()
	program, err := os.Executable() // the test binary itself, which can be a coffee cart
	if err != nil {
		panic(err)
	}
	client, err := mcpclient.Connect(ctx, mcpclient.Server{
		Name:    "cart",
		Command: program,
		Env:     map[string]string{"MCPCLIENT_TEST_CART": "modern"},
	}, mcpclient.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close() //nolint:errcheck // nothing can be done about it

	tools, err := client.Tools(ctx)
	if err != nil {
		panic(err)
	}
	for _, tool := range tools {
		if tool.Spec().Name != "cart__create_order" {
			continue
		}
		result, err := tool.Run(ctx, loop.Job{Call: loop.Call{Args: []byte(`{}`)}}, nil)
		fmt.Println(client.Era(), result.Failed, err)
	}
	// Output: modern false <nil>
}
