package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var orderNumber = regexp.MustCompile(`"order": ?"(ord_[A-Za-z0-9]+)"`)

// The agent orders at a cart over Streamable HTTP, with a bearer token in the headers of session/new: what it orders is
// the token's own, and the cart's prices are in what it says. Without the token the cart is not there, and /mcp says why.
func TestCartOverHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, menu := filepath.Join(dir, "tokens"), filepath.Join(dir, "menu.json")
	require.NoError(t, os.WriteFile(tokens, []byte("ada let-ada-in\nbob let-bob-in\n"), 0o600))
	require.NoError(t, os.WriteFile(menu, []byte(`[{"name": "latte", "cents": {"small": 301, "medium": 351, "large": 401}},`+
		`{"name": "morning bun", "cents": 276}]`), 0o600))
	flags := []string{"--token-file", tokens, "--menu", menu, "--store", filepath.Join(dir, "orders.db")}
	url := startCart(t, flags...)
	bearer := func(token string) object { return object{"name": "Authorization", "value": "Bearer " + token} }

	t.Run("an order is placed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.env = append(w.env, "CARTAGENT_MODEL=barista/cart") // the offline model knows what to order
		s := w.open(httpServer("far", url, bearer("let-ada-in")))
		said := textOf(s.prompt(askOrder))
		assert.Contains(t, said, "is placed")
		assert.Contains(t, said, "$6.77")
		assert.Contains(t, textOf(s.prompt("/mcp")), "| far | connected | modern | 6 |")
		assert.NotEmpty(t, s.requests(), "the person was asked")
	})
	t.Run("orders are the caller's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		s := w.open(httpServer("ada", url, bearer("let-ada-in")), httpServer("bob", url, bearer("let-bob-in")))
		made := orderNumber.FindStringSubmatch(textOf(s.prompt("call ada__create_order {}")))
		require.NotNil(t, made)
		args, err := json.Marshal(object{"order": made[1], "item": "latte", "size": "large"})
		require.NoError(t, err)
		assert.Contains(t, textOf(s.prompt("call ada__add_item "+string(args))), "401")
		assert.Contains(t, textOf(s.prompt("call bob__add_item "+string(args))), "Error: ", "another's order")
		placed := textOf(s.prompt(`call ada__place_order {"order":"` + made[1] + `","name":"Ada"}`))
		assert.Contains(t, placed, `"totalCents":401`)
		assert.Contains(t, textOf(s.prompt(`call mcp_read {"server":"bob","uri":"menu://today"}`)), "morning bun")
	})
	t.Run("without a token", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		s := w.open(httpServer("none", url), httpServer("wrong", url, bearer("let-eve-in")))
		assert.Contains(t, s.state("none", "failed"), "authorization")
		assert.Contains(t, s.state("wrong", "failed"), "put a token there that is still good")
		assert.NotContains(t, textOf(s.since(0, s.id)), "let-eve-in")
		assert.NotContains(t, w.stderr.String(), "let-eve-in")
	})
}
