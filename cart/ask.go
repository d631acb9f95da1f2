package cart

// outcome says what a request carries of the customer's answer.
type outcome int

const (
	missing   outcome = iota // no answer, or one that is not a size: ask
	accepted                 // a size
	refused                  // declined or dismissed
	malformed                // not an elicitation result at all
)

// askSize is the question that a drink without a size comes back with. The retry carries the same arguments and the
// answer, which is all it needs, so no state goes along.
func askSize(item Item) body {
	return body{
		"resultType": "input_required",
		"inputRequests": body{
			"size": body{
				"method": "elicitation/create",
				"params": body{
					"mode":    "form",
					"message": "Which size of " + item.priced() + "?",
					"requestedSchema": body{
						"type": "object",
						"properties": body{
							"size": body{"type": "string", "title": "Size", "enum": sizes()},
						},
						"required": []string{"size"},
					},
				},
			},
		},
	}
}

// canAsk reports whether the client can put a form before the person: elicitation without modes means that it can.
func canAsk(capabilities object) bool {
	elicitation, ok := asObject(capabilities["elicitation"])
	if !ok {
		return false
	}
	_, form := asObject(elicitation["form"])
	return form || len(elicitation) == 0
}

// answeredSize reads the answer to askSize. It is the client's word, so it is held against the question's schema.
func answeredSize(params object) (Size, outcome) {
	raw, given := params["inputResponses"]
	if !given {
		return "", missing
	}
	responses, ok := asObject(raw)
	if !ok {
		return "", malformed
	}
	raw, given = responses["size"]
	if !given {
		return "", missing
	}
	answer, _ := asObject(raw)
	action, _ := asString(answer["action"])
	switch action {
	case "accept":
	case "decline", "cancel":
		return "", refused
	default:
		return "", malformed
	}
	content, _ := asObject(answer["content"])
	chosen, _ := asString(content["size"])
	for _, size := range sizes() {
		if string(size) == chosen {
			return size, accepted
		}
	}
	return "", missing
}
