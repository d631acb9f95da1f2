package anthropic

import (
	"context"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/charmbracelet/log"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/llm/schema"
	"github.com/cartagent/cartagent/loop"
)

// Config is all that a Model knows of the world. Nothing is taken from the environment.
type Config struct {
	Model     string
	Key       string
	BaseURL   string // empty for Anthropic's own
	MaxTokens int    // of one reply, thinking included; zero for what the model is known to allow
	Thinking  Thinking
	NoCache   bool          // ask for no prompt caching, for compatible servers that do not know it
	Client    *http.Client  // nil for the default one
	Stall     time.Duration // how long the provider may be silent; zero means llm.DefaultStall
	Retry     llm.Retry
	Log       *log.Logger // may be nil
}

// Thinking says how much the model thinks before it answers. The zero value leaves that to the provider.
type Thinking struct {
	// Effort is low, medium, high, xhigh or max, for models that think as much as they find right; off for none.
	Effort string
	// Budget is the most tokens of thought, for models before those. It counts only where Effort is empty.
	Budget int
}

// Model asks one model of Anthropic's, or of a compatible server. It may be used from any goroutine.
type Model struct {
	cfg     Config
	client  sdk.Client
	shell   llm.Shell
	origin  string
	schemas llm.Schemas
}

var _ loop.Model = (*Model)(nil)

// New checks the configuration; it asks nothing of the network. Its error is a *loop.Failure that says what to set.
func New(c Config) (*Model, error) {
	c.Key = strings.TrimSpace(c.Key)
	c.BaseURL = strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")
	p := llm.Provider{
		Name: llm.NameOf("Anthropic", c.BaseURL), KeyVar: "ANTHROPIC_API_KEY", URLVar: "ANTHROPIC_BASE_URL", Key: c.Key, Model: c.Model,
	}
	if c.Model == "" {
		return nil, &loop.Failure{Kind: loop.FailRequest, Message: "No model is named: it has the form anthropic/NAME."}
	}
	if c.Key == "" {
		return nil, p.MissingKey()
	}
	if err := p.Check(c.BaseURL); err != nil {
		return nil, err
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = maxTokens(c.Model)
	}
	if c.Thinking.Effort == "" && c.Thinking.Budget >= c.MaxTokens {
		return nil, &loop.Failure{
			Kind:    loop.FailRequest,
			Message: "The budget for thinking must be smaller than the most tokens of a reply.",
		}
	}
	opts := []option.RequestOption{
		option.WithHTTPClient(llm.Client(c.Client)), option.WithAPIKey(c.Key), option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if c.BaseURL != "" {
		// Compatible servers know the key by the header that Anthropic's own had before.
		opts = append(opts, option.WithBaseURL(c.BaseURL), option.WithHeader("X-Api-Key", c.Key))
	} else {
		opts = append(opts, option.WithEnvironmentProduction())
	}
	return &Model{
		cfg: c,
		// A literal, and not NewClient: that reads keys, addresses and headers from the environment and from files.
		client:  sdk.Client{Options: opts},
		shell:   llm.Shell{Provider: p, Retry: c.Retry, Stall: c.Stall, Log: c.Log},
		origin:  llm.Origin("anthropic", c.BaseURL),
		schemas: llm.Schemas{Rules: schema.Rules{Name: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString}},
	}, nil
}

// maxTokens is how long a reply may be. The API wants a number and refuses one over the model's own.
func maxTokens(model string) int {
	switch {
	case strings.Contains(model, "claude-3-5"):
		return 8192
	case strings.Contains(model, "claude-3-7"), !strings.Contains(model, "claude-3"):
		return 32_000
	}
	return 4096
}

// Stream implements loop.Model.
func (m *Model) Stream(ctx context.Context, r loop.Request) iter.Seq2[loop.Chunk, error] {
	body, err := m.encode(r)
	if err != nil {
		return func(yield func(loop.Chunk, error) bool) { yield(loop.Chunk{}, err) }
	}
	return m.shell.Stream(ctx, llm.Work{
		Send: func(ctx context.Context) (*http.Response, error) {
			var resp *http.Response
			var headers []option.RequestOption
			for name, value := range r.Trace {
				headers = append(headers, option.WithHeader(name, value))
			}
			err := m.client.Post(ctx, "v1/messages", body, &resp, headers...)
			return m.shell.Read(resp, err)
		},
		Fresh: func() llm.Decoder { return &decoder{provider: m.shell.Provider, origin: m.origin} },
	})
}
