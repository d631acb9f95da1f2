package barista

import (
	"strconv"
	"strings"
)

//nolint:gochecknoglobals // a constant table
var numbers = map[string]int{
	"a": 1, "an": 1, "another": 1, "single": 1, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
	"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
	"fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30,
	"forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "couple": 2, "pair": 2,
	"dozen": 12, "hundred": 100, "thousand": 1000, "twice": 2, "thrice": 3, "half": -1, "quarter": -1, "third": -1,
	"few": -2, "several": -2, "many": -2, "loads": -2, "lots": -2,
}

const manyThings = 1_000_000 // more than anyone can order; larger numbers count as this

// countAt reads a number at tokens[i] and says how many tokens it takes.
func countAt(tokens []token, i int) (count, int) {
	var c count
	start, seen := i, false
	for ; i < len(tokens) && tokens[i].sep == 0; i++ {
		w := tokens[i].word
		n, isWord := numbers[w]
		if !isWord {
			digits, ok := digitsOf(w)
			if !ok || (seen && !c.weak) {
				break
			}
			c.n, c.bad, c.weak, seen = digits.n, c.bad || digits.bad, false, true
			continue
		}
		switch {
		case n < 0:
			if c.bad = true; n == -1 && dozenAt(tokens[i+1:]) > 0 {
				c.bad, n = false, 6
				i += dozenAt(tokens[i+1:])
			}
			c.n, c.weak = max(n, 0), false
		case w == "a" || w == "an" || w == "another" || w == "single":
			if seen && !c.weak && !c.bad {
				return c, i - start
			}
			if !seen {
				c.n, c.weak = 1, w != "single"
			}
			c.again = c.again || w == "another"
		case !seen || c.weak:
			c.n, c.weak = n, false
		case n == 12 && w == "dozen", n >= 100:
			c.n = min(c.n*n, manyThings)
		case c.n >= 20 && c.n%10 == 0 && n < 10 && n > 0:
			c.n += n
		default:
			return c, i - start
		}
		seen = true
	}
	return c, i - start
}

// dozenAt is how many tokens "dozen" or "a dozen" takes here, or 0.
func dozenAt(tokens []token) int {
	for i, t := range tokens[:min(len(tokens), 2)] {
		if t.word == "dozen" {
			return i + 1
		}
		if t.word != "a" {
			return 0
		}
	}
	return 0
}

func digitsOf(word string) (count, bool) {
	if word == "" || (!isDigit(rune(word[0])) && word[0] != '-') {
		return count{}, false
	}
	n, err := strconv.Atoi(word)
	if err != nil && strings.Trim(word, "0123456789") == "" {
		return count{n: manyThings}, true // it is out of range
	}
	if err != nil || n < 0 {
		return count{bad: true}, true
	}
	return count{n: min(n, manyThings)}, true
}
