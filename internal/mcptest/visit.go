package mcptest

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Visit opens a page as a person's browser does, goes where it leads, and gives what is shown in the end.
func Visit(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return "", fmt.Errorf("visiting a page: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	shown, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("visiting a page: status %d: %s", resp.StatusCode, shown)
	}
	return string(shown), err
}
