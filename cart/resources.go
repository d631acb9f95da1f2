package cart

const (
	menuURI      = "menu://today"
	hoursURI     = "hours://week"
	allergensURI = "allergens://menu"
	jsonMIME     = "application/json"
)

func resourceList() []body {
	return []body{
		{
			"uri": menuURI, "name": "menu", "title": "Today's menu", "mimeType": jsonMIME,
			"description": "Every item with its price in cents (one price, or one for each size) and whether it is sold out.",
		},
		{
			"uri": hoursURI, "name": "hours", "title": "Opening hours", "mimeType": jsonMIME,
			"description": "When the cart is open on each day of the week, in its local time. A day without times is closed.",
		},
		{
			"uri": allergensURI, "name": "allergens", "title": "Allergens by item", "mimeType": jsonMIME,
			"description": "The allergens in each item. null means not known: the customer should ask at the cart. The cart's kitchen handles milk, wheat and egg.",
		},
	}
}

func readResource(store Store, params object, env Env) step {
	uri, ok := asString(params["uri"])
	if !ok {
		return store.refuseParams("resources/read needs uri, a string from resources/list")
	}
	var content any
	ttl := listTTL
	switch uri {
	case menuURI:
		content, ttl = env.Menu, menuTTL
	case hoursURI:
		content = week()
	case allergensURI:
		content = env.Menu.allergens()
	default:
		failure := fail(codeInvalidParams, "Resource not found: %s; resources/list names those there are", clip(uri))
		failure.Data = body{"uri": uri}
		return store.refuse(failure)
	}
	return store.answer(cached(ttl, body{
		"contents": []body{{"uri": uri, "mimeType": jsonMIME, "text": text(content)}},
	}))
}

type day struct {
	Day    string `json:"day"`
	Opens  string `json:"opens,omitempty"`
	Closes string `json:"closes,omitempty"`
}

func week() []day {
	return []day{
		{"Monday", "07:00", "15:00"},
		{"Tuesday", "07:00", "15:00"},
		{"Wednesday", "07:00", "15:00"},
		{"Thursday", "07:00", "15:00"},
		{"Friday", "07:00", "17:00"},
		{"Saturday", "08:30", "14:00"},
		{Day: "Sunday"},
	}
}

type itemAllergens struct {
	Item      string   `json:"item"`
	Allergens []string `json:"allergens"`
}

func (m Menu) allergens() []itemAllergens {
	list := make([]itemAllergens, len(m))
	for i, it := range m {
		list[i] = itemAllergens{it.Name, it.Allergens}
	}
	return list
}
