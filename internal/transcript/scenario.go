package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
	"golang.org/x/tools/txtar"
)

// Scenario is one file.
type Scenario struct {
	Header string
	Config Config
	Model  string // model.jsonl as it is
	Wire   []Message
	Inputs []Record
	Before map[string]string // the workspace's files, by slash-separated path
	After  map[string]string
}

// Config says what the agent of a scenario is made of.
type Config struct {
	Model string `json:"model"` // scripted, or barista/cart
}

// Message is one line on the wire: In goes to the agent, Out comes from it. One of them is set.
type Message struct {
	In  json.RawMessage `json:"in,omitempty"`
	Out json.RawMessage `json:"out,omitempty"`
}

// Record is one input of the session.
type Record struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Parse reads a scenario. Its error says in which part of the file something is wrong.
func Parse(data []byte) (*Scenario, error) {
	archive := txtar.Parse(data)
	s := &Scenario{Header: string(archive.Comment), Before: map[string]string{}, After: map[string]string{}}
	var errs []error
	for _, f := range archive.Files {
		var err error
		switch name := f.Name; {
		case name == "config.json":
			err = strict(f.Data, &s.Config)
		case name == "model.jsonl":
			s.Model = string(f.Data)
		case name == "wire.jsonl":
			s.Wire, err = parseLines[Message](f.Data)
		case name == "inputs.jsonl":
			s.Inputs, err = parseLines[Record](f.Data)
		case strings.HasPrefix(name, "before/"):
			s.Before[strings.TrimPrefix(name, "before/")] = string(f.Data)
		case strings.HasPrefix(name, "after/"):
			s.After[strings.TrimPrefix(name, "after/")] = string(f.Data)
		default:
			err = errors.New("a scenario has no such part")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	for i, m := range s.Wire {
		if (m.In == nil) == (m.Out == nil) {
			errs = append(errs, fmt.Errorf("wire.jsonl: line %d must have either in or out", i+1))
		}
	}
	return s, errors.Join(errs...)
}

func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
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
	config, err := json.Marshal(s.Config)
	if err != nil {
		return nil, err
	}
	wire, err := formatLines(s.Wire)
	if err != nil {
		return nil, err
	}
	inputs, err := formatLines(s.Inputs)
	if err != nil {
		return nil, err
	}
	archive := &txtar.Archive{Comment: []byte(s.Header), Files: []txtar.File{{Name: "config.json", Data: append(config, '\n')}}}
	add := func(name, data string) {
		if data != "" {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(data)})
		}
	}
	add("model.jsonl", s.Model)
	add("wire.jsonl", wire)
	add("inputs.jsonl", inputs)
	for _, part := range []struct {
		prefix string
		files  map[string]string
	}{{"before/", s.Before}, {"after/", s.After}} {
		for _, name := range slices.Sorted(maps.Keys(part.files)) {
			archive.Files = append(archive.Files, txtar.File{Name: part.prefix + name, Data: []byte(part.files[name])})
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
func (s *Scenario) LoopInputs() ([]loop.Input, error) {
	out := make([]loop.Input, len(s.Inputs))
	for i, r := range s.Inputs {
		in, err := loop.DecodeInput(r.Kind, r.Body)
		if err != nil {
			return nil, fmt.Errorf("inputs.jsonl: line %d: %w", i+1, err)
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
