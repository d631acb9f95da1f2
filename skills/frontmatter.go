package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The limits of a SKILL.md. The last three are those of the Agent Skills format.
const (
	maxSkillFile   = 1 << 20
	maxFrontMatter = 64 << 10
	maxName        = 64
	maxDescription = 1024
)

var nameRule = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// meta is the front matter that counts here; other keys are left alone.
type meta struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// decodeText makes plain text of a file's bytes: without a byte order mark, with LF as the line ending.
func decodeText(data []byte) (string, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return "", errors.New("it is UTF-16; save it as UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return "", errors.New("it has NUL bytes, so it is no UTF-8 text; save it as UTF-8")
	case !utf8.Valid(data):
		return "", errors.New("it is not valid UTF-8; save it as UTF-8")
	}
	s := strings.TrimPrefix(string(data), "\uFEFF")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n"), nil
}

// split takes a text apart into front matter and body. Blank lines may come first, and the fences may have spaces
// behind them.
func split(s string) (front, body string, err error) {
	rest := s
	for {
		line, after, more := strings.Cut(rest, "\n")
		fence := strings.TrimRight(line, " \t")
		if fence == "---" && more {
			rest = after
			break
		}
		if strings.TrimSpace(line) != "" || !more {
			return "", "", errors.New("it does not begin with front matter: a line ---, then name and description, then a line ---")
		}
		rest = after
	}
	for from := 0; from < len(rest); {
		line, _, more := strings.Cut(rest[from:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			end := from + len(line)
			if more {
				end++
			}
			if from > maxFrontMatter {
				break
			}
			return rest[:from], strings.TrimLeft(rest[end:], "\n"), nil
		}
		from += len(line) + 1
	}
	if len(rest) > maxFrontMatter {
		return "", "", fmt.Errorf("its front matter is longer than %d KiB", maxFrontMatter>>10)
	}
	return "", "", errors.New("its front matter has no end: the line --- is missing")
}

// parse reads a SKILL.md that lies in a folder named dir. A warning is what is wrong but does no harm.
func parse(dir string, data []byte) (s Skill, warning string, err error) {
	text, err := decodeText(data)
	if err != nil {
		return Skill{}, "", err
	}
	if strings.TrimSpace(text) == "" {
		return Skill{}, "", errors.New("it is empty")
	}
	front, body, err := split(text)
	if err != nil {
		return Skill{}, "", err
	}
	var m meta
	if err := yaml.Unmarshal([]byte(front), &m); err != nil && !errors.Is(err, io.EOF) {
		return Skill{}, "", fmt.Errorf("its front matter is no YAML: %s", oneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	name, description := strings.TrimSpace(m.Name), oneLine(m.Description)
	switch {
	case name == "":
		return Skill{}, "", errors.New("its front matter has no name")
	case len(name) > maxName || !nameRule.MatchString(name):
		return Skill{}, "", fmt.Errorf("its name %.80q is not allowed: use at most %d of a-z, 0-9 and -", name, maxName)
	case description == "":
		return Skill{}, "", errors.New("its front matter has no description")
	}
	var warnings []string
	if name != dir {
		warnings = append(warnings, fmt.Sprintf("its name is %q but its folder is %q", name, dir))
	}
	if n := utf8.RuneCountInString(description); n > maxDescription {
		warnings = append(warnings, fmt.Sprintf("its description has %d characters; it is cut to %d", n, maxDescription))
		description = string([]rune(description)[:maxDescription])
	}
	return Skill{Name: name, Description: description, Body: body}, strings.Join(warnings, "; "), nil
}

// oneLine takes all white space together.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
