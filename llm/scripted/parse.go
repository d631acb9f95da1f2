package scripted

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// Parse reads replies from JSON lines, one a line; blank lines are skipped. An error names the line, and a key that is
// not known.
//
//	thought  a string, or a list of them: one for each chunk
//	text     likewise
//	calls    a list of {"tool":…,"args":…,"ref":…}; args may be anything, as a provider's may
//	stop     end_turn (where it is missing), max_tokens or refusal
//	usage    {"input":…,"output":…,"cacheRead":…,"cacheWrite":…}
//	error    {"kind":…,"message":…}: the request fails once the chunks are out
//	hang     true: the request waits for its end once the chunks are out
//	expect   text that must stand in the last message of the request
func Parse(r io.Reader) ([]Reply, error) {
	in := bufio.NewReader(r)
	var out []Reply
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			reply, bad := parseLine(line)
			if bad != nil {
				return nil, fmt.Errorf("model script, line %d: %w", n, bad)
			}
			out = append(out, reply)
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the model script: %w", err)
		}
	}
}

// pieces is a string or a list of strings.
type pieces []string

func (p *pieces) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*p = nil
		if one != "" {
			*p = pieces{one}
		}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return errors.New("text and thought are a string or a list of strings")
	}
	*p = many
	return nil
}

type lineCall struct {
	Tool string          `json:"tool"`
	Ref  string          `json:"ref"`
	Args json.RawMessage `json:"args"`
}

type line struct {
	Thought pieces          `json:"thought"`
	Text    pieces          `json:"text"`
	Calls   []lineCall      `json:"calls"`
	Stop    loop.StopReason `json:"stop"`
	Usage   loop.Usage      `json:"usage"`
	Error   *loop.Failure   `json:"error"`
	Hang    bool            `json:"hang"`
	Expect  string          `json:"expect"`
}

func parseLine(data []byte) (Reply, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return Reply{}, fmt.Errorf("unknown key %s; a reply has thought, text, calls [{tool, args, ref}], stop, "+
				"usage {input, output, cacheRead, cacheWrite}, error {kind, message}, hang and expect", key)
		}
		return Reply{}, fmt.Errorf("it is not one JSON object as it should be: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Reply{}, errors.New("there is more behind the reply; put one JSON object on a line")
	}
	if err := l.check(); err != nil {
		return Reply{}, err
	}
	out := Reply{
		Thought: l.Thought, Text: l.Text, Stop: l.Stop, Usage: l.Usage,
		Fail: l.Error, Hang: l.Hang, Expect: l.Expect,
	}
	for _, c := range l.Calls {
		out.Calls = append(out.Calls, loop.NewCall(c.Ref, c.Tool, string(c.Args)))
	}
	return out, nil
}

func (l line) check() error {
	ends := []loop.StopReason{"", loop.StopEndTurn, loop.StopMaxTokens, loop.StopRefusal}
	kinds := []loop.FailureKind{
		loop.FailAuth, loop.FailLimit, loop.FailOverload, loop.FailNetwork, loop.FailRequest,
		loop.FailTooLong, loop.FailIncomplete, loop.FailInternal,
	}
	for i, c := range l.Calls {
		if c.Tool == "" {
			return fmt.Errorf("call %d names no tool", i+1)
		}
	}
	if !slices.Contains(ends, l.Stop) {
		return fmt.Errorf("stop is %q; it can be end_turn, max_tokens or refusal", l.Stop)
	}
	if l.Error != nil && !slices.Contains(kinds, l.Error.Kind) {
		return fmt.Errorf("the error's kind is %q; it can be one of %q", l.Error.Kind, kinds)
	}
	if l.Error != nil && l.Error.Message == "" {
		return errors.New("the error has no message")
	}
	if l.Error != nil && l.Hang {
		return errors.New("error and hang are both there; a request ends in one way")
	}
	if (l.Error != nil || l.Hang) && (len(l.Calls) > 0 || l.Stop != "") {
		return errors.New("a reply with error or hang never ends, so it has no calls and no stop")
	}
	return nil
}
