package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// person is who answers at the terminal. Questions go to stderr.
type person struct {
	console console
	tty     *os.File
	in      *bufio.Reader
}

// errNoAnswer ends a login without a key.
var errNoAnswer = errors.New("no key is stored: there was no answer")

// line asks a question and returns what is typed, hidden or not.
func (a *person) line(ctx context.Context, question string, hidden bool) (string, error) {
	undo := func() error { return nil }
	if hidden {
		var err error
		if undo, err = hideInput(a.tty); err != nil {
			return "", &exitCode{code: exitError, err: err}
		}
	}
	_, _ = io.WriteString(a.console.err, question)
	text, err := await(ctx, func() (string, error) { return a.in.ReadString('\n') })
	if hidden || err != nil {
		_, _ = io.WriteString(a.console.err, "\n") // the one that was typed did not show
	}
	undoErr := undo()
	text = strings.TrimSpace(text)
	switch {
	case undoErr != nil:
		return "", &exitCode{code: exitError, err: fmt.Errorf("making the terminal show what is typed again (`stty echo` does): %w", undoErr)}
	case ctx.Err() != nil:
		return "", err
	case err != nil && text == "":
		return "", &exitCode{code: exitError, err: errNoAnswer}
	}
	return text, nil
}

// provider asks for one, unless it is named.
func (a *person) provider(ctx context.Context, name string) (provider, error) {
	if name != "" {
		p, ok := providerNamed(name)
		if !ok {
			return provider{}, noProvider(name)
		}
		return p, nil
	}
	question := "Whose key is it?\n"
	for i, p := range providers() {
		question += fmt.Sprintf("  %d  %s\n", i+1, p.name)
		if base := a.console.env(p.urlVar); base != "" {
			question = strings.TrimSuffix(question, "\n") + ", at " + address(base) + "\n"
		}
	}
	for {
		text, err := a.line(ctx, question+"Number: ", false)
		if err != nil {
			return provider{}, err
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(providers()) {
			return providers()[n-1], nil
		}
		if p, ok := providerNamed(text); ok {
			return p, nil
		}
		question = fmt.Sprintf("It is a number from 1 to %d.\n", len(providers()))
	}
}

// key asks for a key until the provider takes it, three times at most, or the person keeps one that cannot be checked.
func (a *person) key(ctx context.Context, p provider, base string, check func(key string) error) (string, error) {
	question := "Key for " + p.name
	if base != "" {
		question += " at " + address(base)
	}
	var refused error
	for range 3 {
		key, err := a.line(ctx, question+" (it is not shown): ", true)
		if err != nil {
			return "", err
		}
		if what := wrongKey(key); what != "" {
			refused = fmt.Errorf("that is no key: %s", what)
			a.console.tell(refused.Error())
			continue
		}
		err = check(key)
		switch {
		case err == nil:
			return key, nil
		case ctx.Err() != nil:
			return "", err
		case errors.Is(err, errRefused):
			refused = err
			a.console.tell(err.Error())
			continue
		}
		a.console.tell("the key could not be checked: " + err.Error())
		keep, err := a.line(ctx, "Store it unchecked? [y/N] ", false)
		if err != nil {
			return "", err
		}
		if keep = strings.ToLower(keep); keep == "y" || keep == "yes" {
			return key, nil
		}
		return "", &exitCode{code: exitError, err: errors.New("no key is stored")}
	}
	return "", usageError(fmt.Errorf("no key is stored: %w", refused))
}

// script reads the key from stdin.
func (a *person) script(ctx context.Context, check func(key string) error) (string, error) {
	data, err := await(ctx, func() ([]byte, error) {
		const most = 64 << 10
		return io.ReadAll(io.LimitReader(a.in, most))
	})
	if err != nil {
		return "", &exitCode{code: exitError, err: fmt.Errorf("reading the key: %w", err)}
	}
	key := strings.TrimSpace(string(data))
	if what := wrongKey(key); what != "" {
		return "", usageError(errors.New("what is on stdin is no key: " + what))
	}
	err = check(key)
	switch {
	case err == nil:
		return key, nil
	case errors.Is(err, errRefused):
		return "", usageError(fmt.Errorf("no key is stored: %w", err))
	}
	return "", &exitCode{
		code: exitError,
		err:  fmt.Errorf("the key could not be checked, so it is not stored (--no-check stores it all the same): %w", err),
	}
}

// await is the result of a read, unless ctx ends first. Nothing ends a read from a terminal or a pipe: after an
// interrupt the process ends, and the read with it.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// wrongKey says why the text cannot be a key; empty where it can.
func wrongKey(key string) string {
	switch {
	case key == "":
		return "it is empty"
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "it has spaces or other characters in it that no key has"
	}
	return ""
}
