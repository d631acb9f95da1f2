package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
)

// toolCall is what was typed behind `mcp call`.
type toolCall struct {
	server, tool, args string
	json               bool
}

// callTool calls a tool and prints its result.
func callTool(ctx context.Context, c console, w whichServers, call toolCall) (err error) {
	args, err := call.arguments(ctx, c)
	if err != nil {
		return err
	}
	l, work, err := w.named(c, call.server)
	if err != nil {
		return err
	}
	logger := c.serverLog()
	failed := func(err error) error {
		return &exitCode{code: exitError, err: errors.New(l.ready.conceal(err.Error()))}
	}
	client, err := mcpclient.Connect(ctx, l.ready.server(l.Name, work), mcpclient.Options{Log: logger, Version: version()})
	if err != nil {
		return failed(err)
	}
	defer func() {
		if closeErr := client.Close(); closeErr != nil {
			logger.Warn("closing a server", "server", l.Name, "err", l.ready.conceal(closeErr.Error()))
		}
	}()
	tools, err := client.Tools(ctx)
	if err != nil {
		return failed(err)
	}
	tool, err := toolNamed(tools, call)
	if err != nil {
		return usageError(err)
	}
	job := loop.Job{Call: loop.Call{ID: "call_1", Tool: tool.Spec().Name, Args: args}}
	if job.Preview, err = tool.Preview(ctx, job.Call); err != nil {
		return usageError(err)
	}
	result, err := tool.Run(ctx, job, func(loop.Block) {})
	if err != nil {
		return failed(err)
	}
	return printResult(c, result, call.json)
}

// arguments are the JSON object that was typed, or is on stdin.
func (t toolCall) arguments(ctx context.Context, c console) (json.RawMessage, error) {
	text := t.args
	if text == "-" {
		const most = 64 << 20
		data, err := await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(c.in, most+1)) })
		switch {
		case err != nil:
			return nil, &exitCode{code: exitError, err: fmt.Errorf("reading the arguments: %w", err)}
		case len(data) > most:
			return nil, usageError(fmt.Errorf("the arguments are larger than %d MiB", most>>20))
		}
		text = string(data)
	}
	text = strings.TrimSpace(text)
	if _, err := members([]byte(text)); err != nil || !json.Valid([]byte(text)) {
		return nil, usageError(errors.New(`the arguments must be one JSON object, such as {"item": "scone"}, or - to read it from stdin`))
	}
	return json.RawMessage(text), nil
}

// named is the configured server of that name.
func (w whichServers) named(c console, name string) (*listed, string, error) {
	all, work, err := w.all(c)
	if err != nil {
		return nil, "", err
	}
	var names []string
	for _, l := range all {
		switch {
		case l.Name == name && l.ready != nil:
			return l, work, nil
		case l.Name == name:
			return nil, "", usageError(fmt.Errorf("the server %s is %s: %s", name, l.State, l.Why))
		case l.Name != "":
			names = append(names, l.Name)
		}
	}
	if len(names) == 0 {
		return nil, "", usageError(fmt.Errorf("there is no server %q, nor any other; `cartagent mcp add` adds one", name))
	}
	return nil, "", usageError(fmt.Errorf("there is no server %q; there are %s", name, strings.Join(names, ", ")))
}

// toolNamed finds a tool by its own name, or by the one that models see.
func toolNamed(tools []loop.Tool, call toolCall) (*mcpclient.Tool, error) {
	var names []string
	for _, t := range tools {
		remote, ok := t.(*mcpclient.Tool)
		if !ok {
			continue
		}
		if remote.Original() == call.tool {
			return remote, nil
		}
		names = append(names, shown(remote.Original()))
	}
	i := slices.IndexFunc(tools, func(t loop.Tool) bool { return t.Spec().Name == call.tool })
	if i >= 0 {
		if remote, ok := tools[i].(*mcpclient.Tool); ok {
			return remote, nil
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the server %s has no tools, or its configuration leaves them all out", call.server)
	}
	return nil, fmt.Errorf("the server %s has no tool %q, or its configuration leaves it out; it has %s", call.server, call.tool, strings.Join(names, ", "))
}

// printResult prints a result, and is an error where the tool calls it a failure.
func printResult(c console, r loop.Result, asJSON bool) error {
	text := resultText(r)
	if asJSON {
		var err error
		if text, err = resultJSON(r); err != nil {
			return &exitCode{code: exitError, err: err}
		}
	}
	if _, err := io.WriteString(c.out, text); err != nil {
		return &exitCode{code: exitError, err: fmt.Errorf("writing the result: %w", err)}
	}
	if r.Failed {
		return &exitCode{code: exitError}
	}
	return nil
}

// resultText is a result for a person. Structured content is among the texts already.
func resultText(r loop.Result) string {
	var b strings.Builder
	for _, block := range r.Content {
		text := ""
		switch v := block.(type) {
		case loop.Text:
			text = v.Text
		case loop.Image:
			text = fmt.Sprintf("[image, %s, %d bytes]", shown(v.MIME), len(v.Data))
		case loop.Audio:
			text = fmt.Sprintf("[audio, %s, %d bytes]", shown(v.MIME), len(v.Data))
		case loop.Link:
			text = fmt.Sprintf("[link to %s, %s]", shown(v.Name), shown(v.URI))
		case loop.Resource:
			if text = v.Text; v.Blob != nil {
				text = fmt.Sprintf("[resource %s, %s, %d bytes]", shown(v.URI), shown(v.MIME), len(v.Blob))
			}
		case loop.Other:
			text = string(v.Raw)
		default:
			text = fmt.Sprintf("[content of a kind that this program does not print: %T]", block)
		}
		b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	}
	return b.String()
}

// resultJSON is a result as MCP writes it.
func resultJSON(r loop.Result) (string, error) {
	out := struct {
		Content    []any           `json:"content"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		IsError    bool            `json:"isError,omitempty"`
	}{Content: []any{}, Structured: r.Raw, IsError: r.Failed}
	for _, block := range r.Content {
		out.Content = append(out.Content, blockJSON(block))
	}
	return compactJSON(out)
}

func blockJSON(block loop.Block) any {
	type dict = map[string]any
	switch v := block.(type) {
	case loop.Text:
		return dict{"type": "text", "text": v.Text}
	case loop.Image:
		return dict{"type": "image", "data": v.Data, "mimeType": v.MIME}
	case loop.Audio:
		return dict{"type": "audio", "data": v.Data, "mimeType": v.MIME}
	case loop.Link:
		return struct {
			Type        string `json:"type"`
			URI         string `json:"uri"`
			Name        string `json:"name"`
			Title       string `json:"title,omitempty"`
			Description string `json:"description,omitempty"`
			MIME        string `json:"mimeType,omitempty"`
			Size        int64  `json:"size,omitempty"`
		}{"resource_link", v.URI, v.Name, v.Title, v.Description, v.MIME, v.Size}
	case loop.Resource:
		contents := dict{"uri": v.URI}
		if v.MIME != "" {
			contents["mimeType"] = v.MIME
		}
		if v.Blob != nil {
			contents["blob"] = v.Blob
		} else {
			contents["text"] = v.Text
		}
		return dict{"type": "resource", "resource": contents}
	case loop.Other:
		return v.Raw
	default: // tools of servers give no others
		return dict{"type": fmt.Sprintf("%T", block)}
	}
}
