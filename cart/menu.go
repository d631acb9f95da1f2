package cart

import (
	"encoding/json"
	"slices"
	"strings"
)

// Size is how large a drink is. The empty Size stands for an item that comes one way; in JSON it is null.
type Size string

// The sizes that a drink comes in.
const (
	Small  Size = "small"
	Medium Size = "medium"
	Large  Size = "large"
)

func sizes() []Size { return []Size{Small, Medium, Large} }

// MarshalJSON writes the empty size as null.
func (s Size) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(s))
}

// Menu is what the cart sells, in the order it is shown. Names differ in more than case and spaces.
type Menu []Item

// Item is one thing on the menu.
type Item struct {
	Name      string   `json:"name"`
	Cents     Price    `json:"cents"`
	SoldOut   bool     `json:"soldOut"`
	Allergens []string `json:"-"` // nil where they are not known, empty where there are none
}

// Price is one price or one for each size, in cents. Its zero value is free of charge.
type Price struct {
	one                  int64
	sized                bool
	small, medium, large int64
}

// OnePrice is the price of an item that comes one way.
func OnePrice(cents int64) Price { return Price{one: cents} }

// SizePrices are the prices of an item that comes in three sizes.
func SizePrices(small, medium, large int64) Price {
	return Price{sized: true, small: small, medium: medium, large: large}
}

// Sized reports whether the price depends on the size.
func (p Price) Sized() bool { return p.sized }

// For is the price at a size, which counts only where the price is [Price.Sized].
func (p Price) For(size Size) int64 {
	switch {
	case !p.sized:
		return p.one
	case size == Small:
		return p.small
	case size == Medium:
		return p.medium
	default:
		return p.large
	}
}

// MarshalJSON writes a number, or an object with a number for each size.
func (p Price) MarshalJSON() ([]byte, error) {
	if !p.sized {
		return json.Marshal(p.one)
	}
	return json.Marshal(struct {
		Small  int64 `json:"small"`
		Medium int64 `json:"medium"`
		Large  int64 `json:"large"`
	}{p.small, p.medium, p.large})
}

// DefaultMenu is the menu of a cart that was given none. The caller owns it.
func DefaultMenu() Menu {
	return Menu{
		{Name: "latte", Cents: SizePrices(400, 475, 550), Allergens: []string{"milk"}},
		{Name: "drip coffee", Cents: SizePrices(250, 300, 350), Allergens: []string{}},
		{Name: "black tea", Cents: SizePrices(225, 275, 325), Allergens: []string{}},
		{Name: "hot chocolate", Cents: SizePrices(375, 425, 475), Allergens: []string{"milk", "soy"}},
		{Name: "morning bun", Cents: OnePrice(350), Allergens: []string{"wheat", "milk", "egg"}},
		{Name: "cardamom bun", Cents: OnePrice(375), SoldOut: true, Allergens: []string{"wheat", "milk", "egg"}},
		{Name: "oat cookie", Cents: OnePrice(275), Allergens: []string{"oats", "wheat", "egg"}},
		{Name: "cheddar sandwich", Cents: OnePrice(725), Allergens: []string{"wheat", "milk", "mustard"}},
	}
}

// find looks a name up as a person would say it: case and spaces around and between words do not matter.
func (m Menu) find(name string) (Item, bool) {
	name = tidy(name)
	i := slices.IndexFunc(m, func(it Item) bool { return strings.EqualFold(tidy(it.Name), name) })
	if i < 0 {
		return Item{}, false
	}
	return m[i], true
}

func tidy(name string) string { return strings.Join(strings.Fields(name), " ") }

// available is the part of the menu that can be had.
func (m Menu) available() Menu {
	return slices.DeleteFunc(slices.Clone(m), func(it Item) bool { return it.SoldOut })
}

func (m Menu) names() string {
	names := make([]string, len(m))
	for i, it := range m {
		names[i] = it.Name
	}
	return strings.Join(names, ", ")
}
