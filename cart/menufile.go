package cart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a menu, wide enough for any cart, and of any file that a person writes for it.
const (
	maxFileBytes = 1 << 20
	maxItems     = 1000
	maxNameRunes = 80
	maxCents     = 10_000_00
)

// ParseMenu reads a menu: a JSON list of {"name", "cents": N or {"small", "medium", "large"}, "soldOut"?, "allergens"?}.
// Its error names every entry and field that is wrong, counting entries from 1.
func ParseMenu(r io.Reader) (Menu, error) {
	data, err := readText(r)
	if err != nil {
		return nil, fmt.Errorf("reading the menu: %w", err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, menuSyntax(data, err)
	}
	switch n := len(entries); {
	case n == 0:
		return nil, errors.New("reading the menu: it has no entries; give a list with at least one item")
	case n > maxItems:
		return nil, fmt.Errorf("reading the menu: it has %d entries; there may be %d", n, maxItems)
	}
	menu := make(Menu, 0, len(entries))
	var problems []error
	for i, raw := range entries {
		item, faults := parseItem(raw)
		if first, ok := menu.find(item.Name); ok && item.Name != "" {
			faults = append(faults, fmt.Sprintf("name: %q is on the menu already", first.Name))
		}
		for _, fault := range faults {
			problems = append(problems, fmt.Errorf("menu entry %d%s: %s", i+1, named(item.Name), fault))
		}
		menu = append(menu, item)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return menu, nil
}

// readText reads a text file of a person whole. A mark that some editors put before a text is no part of it.
func readText(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFileBytes:
		return nil, fmt.Errorf("it is over %d bytes long", maxFileBytes)
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8")
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", clip(name))
}

// menuSyntax says where a menu stops being a JSON list.
func menuSyntax(data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := data[:min(int(syntax.Offset), len(data))]
		return fmt.Errorf("reading the menu: line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
	}
	return errors.New(`reading the menu: it must be a JSON list such as [{"name": "latte", "cents": 400, "soldOut": false}]`)
}

// parseItem reads one entry and says what is wrong with each of its fields.
func parseItem(raw json.RawMessage) (Item, []string) {
	fields, ok := asObject(raw)
	if !ok {
		return Item{}, []string{`must be an object with "name" and "cents"`}
	}
	var item Item
	var faults []string
	note := func(field, fault string) {
		if fault != "" {
			faults = append(faults, field+": "+fault)
		}
	}
	name, isString := asString(fields["name"])
	item.Name = tidy(name)
	switch {
	case !isString || item.Name == "":
		note("name", "must be a string that is not empty")
	case utf8.RuneCountInString(item.Name) > maxNameRunes:
		note("name", fmt.Sprintf("must have at most %d characters", maxNameRunes))
	case strings.ContainsFunc(item.Name, unicode.IsControl):
		note("name", "must have characters that can be shown")
	}
	var fault string
	item.Cents, fault = parsePrice(fields["cents"])
	if fault != "" {
		faults = append(faults, fault)
	}
	if soldOut, given := fields["soldOut"]; given && !isBool(soldOut, &item.SoldOut) {
		note("soldOut", "must be true or false")
	}
	if allergens, given := fields["allergens"]; given && !isList(allergens, &item.Allergens) {
		note("allergens", "must be a list of strings")
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"name", "cents", "soldOut", "allergens"}, field) {
			note(clip(field), "is not a field of an entry; those are name, cents, soldOut and allergens")
		}
	}
	return item, faults
}

func isBool(raw json.RawMessage, into *bool) bool {
	*into = string(raw) == "true"
	return *into || string(raw) == "false"
}

func isList(raw json.RawMessage, into *[]string) bool {
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return false
	}
	*into = make([]string, 0, len(list))
	for _, one := range list {
		s, ok := asString(one)
		if !ok {
			return false
		}
		*into = append(*into, s)
	}
	return true
}

// parsePrice reads the field cents; the fault names the field or the size within it.
func parsePrice(raw json.RawMessage) (Price, string) {
	if len(raw) == 0 {
		return Price{}, "cents: is missing; give a number of cents, or one for each of small, medium and large"
	}
	bySize, ok := asObject(raw)
	if !ok {
		cents, fault := parseCents(raw)
		if fault != "" {
			return Price{}, "cents: " + fault
		}
		return OnePrice(cents), ""
	}
	var prices []int64
	var faults []string
	for _, size := range sizes() {
		one, given := bySize[string(size)]
		if !given {
			faults = append(faults, fmt.Sprintf("cents.%s: is missing", size))
			continue
		}
		cents, fault := parseCents(one)
		if fault != "" {
			faults = append(faults, fmt.Sprintf("cents.%s: %s", size, fault))
		}
		prices = append(prices, cents)
	}
	for _, other := range slices.Sorted(maps.Keys(bySize)) {
		if !slices.Contains(sizes(), Size(other)) {
			faults = append(faults, fmt.Sprintf("cents.%s: is not a size; those are small, medium and large", clip(other)))
		}
	}
	if len(faults) > 0 {
		return Price{}, strings.Join(faults, "; ")
	}
	return SizePrices(prices[0], prices[1], prices[2]), ""
}

func parseCents(raw json.RawMessage) (int64, string) {
	cents, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || cents < 0 || cents > maxCents {
		return 0, fmt.Sprintf("must be a whole number of cents from 0 to %d, such as 475 for $4.75", maxCents)
	}
	return cents, ""
}
