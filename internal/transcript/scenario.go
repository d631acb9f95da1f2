package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cartagent/cartagent/loop"
	"golang.org/x/tools/txtar"
)

// Scenario is one file.
type Scenario struct {
	Header   string
	Manifest Manifest
	Log      []Record // the session's log as it was before, where it was loaded
	Wire     []Message
	Model    []Exchange
	Calls    []Call
	Kit      []Snapshot
	Inputs   []Record
	Config   map[string]string // files of the configuration folder, by slash-separated path
	Before   map[string]string // the workspace's files, likewise
	After    map[string]string
}

// Format is the version of the format that this build reads and writes.
const Format = 1

// Manifest says what the agent of a scenario is made of, what was recorded of the session and what was not.
type Manifest struct {
	Format   int    `json:"cartagent"`
	Version  string `json:"version"`            // of the build that recorded it
	Platform string `json:"platform,omitempty"` // where, as Go names it
	Model    string `json:"model"`              // what sessions begin with
	// Cwd is the session's folder, on paper. It lies in /workspace, which is the root of its repository if it has one.
	Cwd    string   `json:"cwd,omitempty"`
	Git    bool     `json:"git,omitempty"` // there is a .git in /workspace
	Bypass bool     `json:"bypass,omitempty"`
	Clock  []string `json:"clock,omitempty"` // what the clock said, each time that it was asked
	// Models are those that could be chosen, by the one that was.
	Models map[string]Models `json:"models,omitempty"`
	// Captured names the parts of the session that are inside.
	Captured []string `json:"captured,omitempty"`
	// Missing says what is not inside, and so cannot be held against anything.
	Missing []string `json:"missing,omitempty"`
}

// Message is one line on the wire: In goes to the agent, Out comes from it. One of them is set. At is how many inputs
// the session's log had got when an In was read, zero where that is not known.
type Message struct {
	In  json.RawMessage `json:"in,omitempty"`
	Out json.RawMessage `json:"out,omitempty"`
	At  int             `json:"at,omitempty"`
}

// Record is one input of the session.
type Record struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Parse reads a scenario. Its error says in which part of the file something is wrong.
func Parse(data []byte) (*Scenario, error) {
	archive := txtar.Parse(data)
	s := &Scenario{
		Header: string(archive.Comment), Config: map[string]string{}, Before: map[string]string{}, After: map[string]string{},
	}
	var errs []error
	seen := map[string]bool{}
	for _, f := range archive.Files {
		if err := s.part(f.Name, f.Data, seen); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	if len(archive.Files) == 0 {
		errs = append(errs, errors.New("it is no recorded session: it has no parts, such as -- wire.jsonl --"))
	} else if !seen["manifest.json"] {
		errs = append(errs, errors.New("manifest.json: it is missing"))
	}
	for i, m := range s.Wire {
		if (m.In == nil) == (m.Out == nil) {
			errs = append(errs, fmt.Errorf("wire.jsonl: line %d must have either in or out", i+1))
		}
		if m.At < 0 {
			errs = append(errs, fmt.Errorf("wire.jsonl: line %d: at is a number of inputs, so not %d", i+1, m.At))
		}
	}
	return s, errors.Join(errs...)
}

// part reads one part of the file.
func (s *Scenario) part(name string, data []byte, seen map[string]bool) error {
	if isFile, err := s.fileIn(name, data); isFile {
		return err
	}
	if seen[name] {
		return errors.New("it is there twice")
	}
	seen[name] = true
	var err error
	switch name {
	case "manifest.json":
		if err = strict(data, &s.Manifest); err == nil && s.Manifest.Format != Format {
			err = fmt.Errorf(`"cartagent" is the version of the format, and this build reads version %d, not %d`, Format, s.Manifest.Format)
		}
	case "log.jsonl":
		s.Log, err = parseLines[Record](data)
	case "wire.jsonl":
		s.Wire, err = parseLines[Message](data)
	case "model.jsonl":
		s.Model, err = parseExchanges(data)
	case "tools.jsonl":
		s.Calls, err = parseLines[Call](data)
	case "kit.jsonl":
		s.Kit, err = parseLines[Snapshot](data)
	case "inputs.jsonl":
		s.Inputs, err = parseLines[Record](data)
	default:
		err = errors.New("a scenario has no such part")
	}
	return err
}

func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("there is more behind the JSON value")
	}
	return nil
}

func parseLines[T any](data []byte) ([]T, error) {
	var out []T
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var v T
		if err := strict(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, v)
	}
	return out, lines.Err()
}

// Format writes the scenario as Parse reads it, the same bytes for the same scenario.
func (s *Scenario) Format() ([]byte, error) {
	manifest, err := encode(s.Manifest)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, manifest, "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	archive := &txtar.Archive{Comment: []byte(s.Header), Files: []txtar.File{{Name: "manifest.json", Data: indented.Bytes()}}}
	exchanges, err := formatExchanges(s.Model)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name  string
		lines func() (string, error)
	}{
		{"log.jsonl", func() (string, error) { return formatLines(s.Log) }},
		{"wire.jsonl", func() (string, error) { return formatLines(s.Wire) }},
		{"model.jsonl", func() (string, error) { return formatLines(exchanges) }},
		{"tools.jsonl", func() (string, error) { return formatLines(s.Calls) }},
		{"kit.jsonl", func() (string, error) { return formatLines(s.Kit) }},
		{"inputs.jsonl", func() (string, error) { return formatLines(s.Inputs) }},
	} {
		lines, err := part.lines()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		if lines != "" {
			archive.Files = append(archive.Files, txtar.File{Name: part.name, Data: []byte(lines)})
		}
	}
	for _, part := range []struct {
		dir   string
		files map[string]string
	}{{dirConfig, s.Config}, {dirBefore, s.Before}, {dirAfter, s.After}} {
		for _, name := range slices.Sorted(maps.Keys(part.files)) {
			f, err := fileOut(part.dir, name, part.files[name])
			if err != nil {
				return nil, err
			}
			archive.Files = append(archive.Files, f)
		}
	}
	return txtar.Format(archive), nil
}

func formatLines[T any](list []T) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// LoopInputs are the scenario's inputs as the loop has them.
func (s *Scenario) LoopInputs() ([]loop.Input, error) { return Inputs(s.Inputs, "inputs.jsonl") }

// Inputs are records as the loop has them. The error names the part of the scenario that they are from.
func Inputs(records []Record, part string) ([]loop.Input, error) {
	out := make([]loop.Input, len(records))
	for i, r := range records {
		in, err := loop.DecodeInput(r.Kind, r.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", part, i+1, err)
		}
		out[i] = in
	}
	return out, nil
}

// Records are inputs as a scenario keeps them, with the names counted by n.
func Records(inputs []loop.Input, n *Names) ([]Record, error) {
	out := make([]Record, len(inputs))
	for i, in := range inputs {
		kind, body, err := loop.EncodeInput(in)
		if err != nil {
			return nil, err
		}
		out[i] = Record{Kind: kind, Body: n.Count(body)}
	}
	return out, nil
}
