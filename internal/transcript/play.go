package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Play plays the client's half of a scenario against an agent and holds what comes back against the other half. The
// first line that differs is the error. It returns when the last line of the scenario has crossed.
func Play(s *Scenario, agent io.ReadWriter, names *Names) error {
	p := player{in: bufio.NewReader(agent), names: names}
	for i, m := range s.Wire {
		if err := p.play(agent, m); err != nil {
			return fmt.Errorf("wire.jsonl: line %d: %w", i+1, err)
		}
	}
	for _, want := range p.wanted {
		for len(p.aside) == 0 {
			line, err := p.next()
			switch {
			case err != nil:
				return fmt.Errorf("expected %s, but nothing more came: %w", want, err)
			case line != nil:
				return fmt.Errorf("expected %s, now %s", want, line)
			}
		}
		if diff := Difference(want, p.aside[0]); diff != "" {
			return errors.New(diff)
		}
		p.aside = p.aside[1:]
	}
	if len(p.aside) > 0 {
		return fmt.Errorf("nothing more is recorded, but there was %s", p.aside[0])
	}
	return nil
}

type player struct {
	in     *bufio.Reader
	names  *Names
	wanted []json.RawMessage // notifications of the protocol level, as recorded
	aside  []json.RawMessage // and as they came
}

func (p *player) play(agent io.Writer, m Message) error {
	switch {
	case m.In != nil:
		if _, err := agent.Write(append(p.names.Real(m.In), '\n')); err != nil {
			return fmt.Errorf("sending it: %w", err)
		}
		return nil
	case protocolLevel(m.Out):
		p.wanted = append(p.wanted, m.Out)
		return nil
	}
	for {
		line, err := p.next()
		if err != nil {
			return fmt.Errorf("expected %s, but nothing more came: %w", m.Out, err)
		}
		if line == nil {
			continue
		}
		if diff := Difference(m.Out, line); diff != "" {
			return errors.New(diff)
		}
		return nil
	}
}

// next is the next line that has its place among the others; nil for one that was put aside.
func (p *player) next() (json.RawMessage, error) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	counted := p.names.Count(line)
	if protocolLevel(counted) {
		p.aside = append(p.aside, counted)
		return nil, nil // a line was read, and there is none to return
	}
	return counted, nil
}

func protocolLevel(line json.RawMessage) bool {
	var m struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(line, &m) == nil && strings.HasPrefix(m.Method, "$/")
}

// Capture plays the client's half and returns the whole conversation as it went: quiet says when the agent has nothing
// more to say, which is when the next line may go in.
func Capture(s *Scenario, agent io.ReadWriter, names *Names, quiet func()) ([]Message, error) {
	lines := make(chan json.RawMessage, 4096)
	go func() {
		defer close(lines)
		in := bufio.NewReader(agent)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	var wire []Message
	for _, m := range s.Wire {
		if m.In == nil {
			continue
		}
		if _, err := agent.Write(append(names.Real(m.In), '\n')); err != nil {
			return nil, fmt.Errorf("sending %s: %w", m.In, err)
		}
		wire = append(wire, m)
		quiet()
		for len(lines) > 0 {
			line := names.Count(<-lines)
			if !json.Valid(line) {
				return nil, fmt.Errorf("the agent wrote a line that is no JSON: %s", line)
			}
			wire = append(wire, Message{Out: json.RawMessage(strings.TrimSpace(string(line)))})
		}
	}
	return wire, nil
}
