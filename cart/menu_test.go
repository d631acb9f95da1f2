package cart

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseMenu(t *testing.T) {
	t.Parallel()
	menu, err := ParseMenu(strings.NewReader("\ufeff" + `[
		{"name": " Flat  white ", "cents": {"small": 0, "medium": 425, "large": 1000000}},
		{"name": "scone", "cents": 300, "soldOut": true, "allergens": ["wheat"]},
		{"name": "water", "cents": 0, "soldOut": false, "allergens": []}
	]`))
	require.NoError(t, err)
	assert.Equal(t, Menu{
		{Name: "Flat white", Cents: SizePrices(0, 425, 1_000_000)},
		{Name: "scone", Cents: OnePrice(300), SoldOut: true, Allergens: []string{"wheat"}},
		{Name: "water", Cents: OnePrice(0), Allergens: []string{}},
	}, menu)
}

func TestParseMenuReadsWhatTheMenuResourceShows(t *testing.T) {
	t.Parallel()
	menu, err := ParseMenu(strings.NewReader(text(DefaultMenu())))
	require.NoError(t, err)
	want := DefaultMenu()
	for i := range want {
		want[i].Allergens = nil
	}
	assert.Equal(t, want, menu)
}

func TestParseMenuNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	const cents = "must be a whole number of cents from 0 to 1000000, such as 475 for $4.75"
	for _, row := range []struct{ file, want string }{
		{``, "reading the menu: line 1: unexpected end of JSON input"},
		{"[\n{\"name\": \"tea\",\n]", "reading the menu: line 3: invalid character ']' looking for beginning of object key string"},
		{`[] []`, "reading the menu: line 1: invalid character '[' after top-level value"},
		{`{"name":"tea"}`, `reading the menu: it must be a JSON list such as [{"name": "latte", "cents": 400, "soldOut": false}]`},
		{`[]`, "reading the menu: it has no entries; give a list with at least one item"},
		{`null`, "reading the menu: it has no entries; give a list with at least one item"},
		{"[\"\xff\"]", "reading the menu: it is not UTF-8"},
		{`["tea"]`, `menu entry 1: must be an object with "name" and "cents"`},
		{`[null]`, `menu entry 1: must be an object with "name" and "cents"`},
		{`[{"cents":1}]`, "menu entry 1: name: must be a string that is not empty"},
		{`[{"name":" ","cents":1}]`, "menu entry 1: name: must be a string that is not empty"},
		{`[{"name":7,"cents":1}]`, "menu entry 1: name: must be a string that is not empty"},
		{`[{"name":"tea"}]`, `menu entry 1 ("tea"): cents: is missing; give a number of cents, or one for each of small, medium and large`},
		{`[{"name":"tea","cents":4.75}]`, `menu entry 1 ("tea"): cents: ` + cents},
		{`[{"name":"tea","cents":-1}]`, `menu entry 1 ("tea"): cents: ` + cents},
		{`[{"name":"tea","cents":1000001}]`, `menu entry 1 ("tea"): cents: ` + cents},
		{`[{"name":"tea","cents":99999999999999999999}]`, `menu entry 1 ("tea"): cents: ` + cents},
		{`[{"name":"tea","cents":"475"}]`, `menu entry 1 ("tea"): cents: ` + cents},
		{`[{"name":"tea","cents":null}]`, `menu entry 1 ("tea"): cents: ` + cents},
		{`[{"name":"tea","cents":{"small":1,"large":2.5,"huge":3}}]`, `menu entry 1 ("tea"): cents.medium: is missing; cents.large: ` + cents + `; cents.huge: is not a size; those are small, medium and large`},
		{`[{"name":"tea","cents":1,"soldOut":"no"}]`, `menu entry 1 ("tea"): soldOut: must be true or false`},
		{`[{"name":"tea","cents":1,"soldout":true}]`, `menu entry 1 ("tea"): soldout: is not a field of an entry; those are name, cents, soldOut and allergens`},
		{`[{"name":"tea","cents":1,"allergens":"milk"}]`, `menu entry 1 ("tea"): allergens: must be a list of strings`},
		{`[{"name":"tea","cents":1,"allergens":[1]}]`, `menu entry 1 ("tea"): allergens: must be a list of strings`},
		{`[{"name":"tea","cents":1},{"name":"TEA ","cents":1}]`, `menu entry 2 ("TEA"): name: "tea" is on the menu already`},
		{`[{"name":"tea","cents":"x"},{"name":"` + strings.Repeat("x", 81) + `","cents":1}]`, `menu entry 1 ("tea"): cents: ` + cents + "\n" +
			`menu entry 2 ("` + strings.Repeat("x", 80) + `…"): name: must have at most 80 characters`},
		{`[{"name":"te\u001b[1ma","cents":1}]`, `menu entry 1 ("te\x1b[1ma"): name: must have characters that can be shown`},
		{"[" + strings.Repeat(`{"name":"tea","cents":1},`, maxItems) + `{}]`, "reading the menu: it has 1001 entries; there may be 1000"},
		{strings.Repeat(" ", maxFileBytes+1), "reading the menu: it is over 1048576 bytes long"},
	} {
		menu, err := ParseMenu(strings.NewReader(row.file))
		require.EqualError(t, err, row.want)
		assert.Nil(t, menu)
	}
}

func TestParseMenuPassesOnAReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := ParseMenu(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}
