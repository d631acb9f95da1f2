package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cartagent/cartagent/llm"
)

// errRefused says that the provider does not know a key.
var errRefused = errors.New("refused")

// checkWait is how long a provider may take to say what it thinks of a key.
const checkWait = 15 * time.Second

// client is the provider as sentences name it.
func (p provider) client(key, base string) llm.Provider {
	return llm.Provider{Name: llm.NameOf(p.name, base), KeyVar: p.keyVar, URLVar: p.urlVar, Key: key}
}

// modelsRequest asks for the list of models: it costs nothing, and wants a key.
func (p provider) modelsRequest(ctx context.Context, c credentials) (*http.Request, error) {
	base := strings.TrimRight(c.baseURL, "/")
	switch {
	case base == "" && p.id == "anthropic":
		base = "https://api.anthropic.com/v1"
	case base == "":
		base = "https://api.openai.com/v1"
	case p.id == "anthropic":
		base = strings.TrimSuffix(base, "/v1") + "/v1"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", p.name, err)
	}
	if p.id == "anthropic" {
		r.Header.Set("X-Api-Key", c.key)
		r.Header.Set("Anthropic-Version", "2023-06-01")
	} else {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	return r, nil
}

// check asks the provider whether it takes the key. errRefused means that it does not; any other error, that nobody
// knows. Neither has the key in it.
func (p provider) check(ctx context.Context, c credentials) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	client := p.client(c.key, c.baseURL)
	request, err := p.modelsRequest(ctx, c)
	if err != nil {
		return err
	}
	response, err := llm.Client(nil).Do(request)
	if err != nil {
		return errors.New(strings.TrimSuffix(client.NoAnswer(err).Error(), "."))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // what came of it is enough for the sentence
	said := client.Clean(llm.ParseTrouble(response.StatusCode, response.Header, body, time.Now()).Text)
	if said != "" {
		said = ": " + said
	}
	if response.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%s %w the key (%d%s)", client.Name, errRefused, response.StatusCode, said)
	}
	return fmt.Errorf("%s does not say whether it takes the key (%d%s)", client.Name, response.StatusCode, said)
}
