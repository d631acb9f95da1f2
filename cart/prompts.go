package cart

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	promptSpecial  = "weekly_special"
	promptCatering = "catering_reply"

	maxEventRunes = 200
	maxPeople     = 1000
)

func promptList() []body {
	return []body{
		{
			"name": promptSpecial, "title": "Announce the week's special",
			"description": "A short notice for this week's special, with its price.",
		},
		{
			"name": promptCatering, "title": "Reply to a catering inquiry",
			"description": "A draft reply to someone who wants the cart at an event, priced from today's menu.",
			"arguments": []body{
				{"name": "event", "description": "What the event is, such as \"a garden wedding on Saturday\".", "required": true},
				{"name": "people", "description": fmt.Sprintf("How many people come, from 1 to %d.", maxPeople), "required": true},
			},
		},
	}
}

func getPrompt(store Store, params object, env Env) step {
	name, ok := asString(params["name"])
	if !ok {
		return store.refuseParams("prompts/get needs name, a string from prompts/list")
	}
	args, failure := promptArguments(params)
	if failure != nil {
		return store.refuse(failure)
	}
	switch name {
	case promptSpecial:
		if failure := onlyArguments(name, args); failure != nil {
			return store.refuse(failure)
		}
		return store.answer(prompt("This week's special", specialText(env)))
	case promptCatering:
		return cateringReply(store, args, env)
	default:
		return store.refuse(fail(codeInvalidParams, "Unknown prompt: %s; prompts/list names those there are", clip(name)))
	}
}

func prompt(description, words string) body {
	return body{
		"description": description,
		"messages":    []body{{"role": "user", "content": body{"type": "text", "text": words}}},
	}
}

// promptArguments are strings in every prompt.
func promptArguments(params object) (map[string]string, *Error) {
	raw := params["arguments"]
	fields, ok := asObject(raw)
	if !ok && !isAbsent(raw) {
		return nil, fail(codeInvalidParams, "arguments must be an object")
	}
	args := make(map[string]string, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, ok := asString(fields[name])
		if !ok {
			return nil, fail(codeInvalidParams, "Invalid arguments: %s must be a string", clip(name))
		}
		args[name] = value
	}
	return args, nil
}

func onlyArguments(prompt string, args map[string]string, known ...string) *Error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(known, name) {
			return fail(codeInvalidParams, "Invalid arguments for %s: %s is not one of its arguments", prompt, clip(name))
		}
	}
	return nil
}

// specialText asks for a notice about the item whose turn it is: they take turns week by week, from what is not sold out.
func specialText(env Env) string {
	choice := env.Menu.available()
	if len(choice) == 0 {
		return "Write one friendly sentence for the coffee cart's board: everything is sold out this week, come again soon."
	}
	const week = int64(7 * 24 * time.Hour / time.Millisecond)
	turn := env.Now / week % int64(len(choice))
	if turn < 0 {
		turn += int64(len(choice))
	}
	special := choice[turn]
	return fmt.Sprintf("Write a notice of two sentences for the coffee cart's board about this week's special: %s. "+
		"Name the price as given, promise nothing that is not said here, and be warm without exclamation marks.", special.priced())
}

func cateringReply(store Store, args map[string]string, env Env) step {
	if failure := onlyArguments(promptCatering, args, "event", "people"); failure != nil {
		return store.refuse(failure)
	}
	event := tidy(args["event"])
	if event == "" || utf8.RuneCountInString(event) > maxEventRunes {
		return store.refuse(fail(codeInvalidParams, "Invalid arguments for %s: event must say what the event is, in at most %d characters", promptCatering, maxEventRunes))
	}
	people, err := strconv.Atoi(strings.TrimSpace(args["people"]))
	if err != nil || people < 1 || people > maxPeople {
		return store.refuse(fail(codeInvalidParams, "Invalid arguments for %s: people must be a whole number from 1 to %d", promptCatering, maxPeople))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Draft a reply to a catering inquiry for the coffee cart.\n\nThe event: %s\nPeople: %d\n\nWhat can be had today:\n", event, people)
	for _, item := range env.Menu.available() {
		fmt.Fprintf(&b, "- %s\n", item.priced())
	}
	b.WriteString("\nSuggest what to serve, give the sum for that many people from these prices alone, ask for the date, the place " +
		"and any allergies that were not named, and say that nothing is booked until we confirm. Keep it under 150 words.")
	return store.answer(prompt("A reply to a catering inquiry", b.String()))
}

// priced is the item with its price, or a price for each size.
func (it Item) priced() string {
	if !it.Cents.Sized() {
		return it.Name + " " + dollars(it.Cents.For(""))
	}
	prices := make([]string, 0, len(sizes()))
	for _, size := range sizes() {
		prices = append(prices, fmt.Sprintf("%s %s", size, dollars(it.Cents.For(size))))
	}
	return it.Name + " (" + strings.Join(prices, ", ") + ")"
}

func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }
