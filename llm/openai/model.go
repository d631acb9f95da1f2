package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/log"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/llm/schema"
	"github.com/cartagent/cartagent/loop"
)

// Config is all that a Model knows of the world. Nothing is taken from the environment.
type Config struct {
	Model     string
	Key       string // may be empty with a BaseURL: local servers need none
	BaseURL   string // up to and with /v1; empty for OpenAI's own
	MaxTokens int    // of one reply; zero leaves it to the provider
	Thinking  string // reasoning effort: off, low, medium, high, max, or what else the model knows; empty leaves it to the provider
	Reasoning Reasoning
	Client    *http.Client  // nil for the default one
	Stall     time.Duration // how long the provider may be silent; zero means llm.DefaultStall
	Retry     llm.Retry
	Log       *log.Logger // may be nil
}

// Reasoning says whether a model's reasoning goes back to its provider, on messages with calls.
type Reasoning int

// The ways. ReasoningAuto begins with sending it.
const (
	ReasoningAuto Reasoning = iota
	ReasoningSend
	ReasoningOmit
)

// Model asks one model over Chat Completions. It may be used from any goroutine.
type Model struct {
	cfg     Config
	client  sdk.Client
	shell   llm.Shell
	origin  string
	dialect atomic.Pointer[dialect]
	schemas llm.Schemas
}

var _ loop.Model = (*Model)(nil)

// New checks the configuration; it asks nothing of the network. Its error is a *loop.Failure that says what to set.
func New(c Config) (*Model, error) {
	c.Key = strings.TrimSpace(c.Key)
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	p := llm.Provider{
		Name:   llm.NameOf("OpenAI", c.BaseURL),
		KeyVar: "OPENAI_API_KEY", URLVar: "OPENAI_BASE_URL", Key: c.Key, Model: c.Model,
	}
	if c.Model == "" {
		return nil, &loop.Failure{Kind: loop.FailRequest, Message: "No model is named: it has the form openai/NAME."}
	}
	if c.Key == "" && c.BaseURL == "" {
		return nil, p.MissingKey()
	}
	if err := p.Check(c.BaseURL); err != nil {
		return nil, err
	}
	opts := []option.RequestOption{
		option.WithHTTPClient(llm.Client(c.Client)), option.WithMaxRetries(0), option.WithHeader("Accept", "text/event-stream"),
	}
	if c.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(c.BaseURL))
	} else {
		opts = append(opts, option.WithEnvironmentProduction())
	}
	if c.Key != "" {
		opts = append(opts, option.WithAPIKey(c.Key))
	}
	m := &Model{
		cfg: c,
		// A literal, and not NewClient: that reads keys, addresses and headers from the environment.
		client: sdk.Client{Options: opts},
		shell:  llm.Shell{Provider: p, Retry: c.Retry, Stall: c.Stall, Log: c.Log},
		origin: llm.Origin("openai", c.BaseURL),
	}
	m.schemas.Rules = schema.Rules{Whole: true}
	m.dialect.Store(&dialect{omitReasoning: c.Reasoning == ReasoningOmit, oldLimit: c.BaseURL != ""})
	return m, nil
}

// Stream implements loop.Model.
func (m *Model) Stream(ctx context.Context, r loop.Request) iter.Seq2[loop.Chunk, error] {
	return m.shell.Stream(ctx, llm.Work{
		Send: func(ctx context.Context) (*http.Response, error) { return m.send(ctx, r) },
		Fresh: func() llm.Decoder {
			return &decoder{provider: m.shell.Provider, origin: m.origin}
		},
	})
}

// send sends the request, and if the server refuses what another does not, once more the other way.
func (m *Model) send(ctx context.Context, r loop.Request) (*http.Response, error) {
	d := *m.dialect.Load()
	body, err := m.encode(r, d)
	if err != nil {
		return nil, err
	}
	resp, err := m.post(ctx, body, r.Trace)
	var fault *llm.Fault
	if !errors.As(err, &fault) || fault.Failure.Kind != loop.FailRequest {
		return resp, err
	}
	other, ok := d.other(fault.Failure.Message, m.cfg.Reasoning == ReasoningAuto)
	if !ok {
		return nil, err
	}
	again, encodeErr := m.encode(r, other)
	if encodeErr != nil || string(again) == string(body) {
		return nil, err
	}
	resp, err = m.post(ctx, again, r.Trace)
	if err == nil {
		m.schemas.Rules = schema.Rules{Whole: true}
		m.dialect.Store(&other)
	}
	return resp, err
}

func (m *Model) post(ctx context.Context, body []byte, trace loop.Trace) (*http.Response, error) {
	var resp *http.Response
	var headers []option.RequestOption
	for name, value := range trace {
		headers = append(headers, option.WithHeader(name, value))
	}
	err := m.client.Post(ctx, "chat/completions", body, &resp, headers...)
	return m.shell.Read(resp, err)
}

// dialect is what is known of the server.
type dialect struct {
	omitReasoning bool
	noUsage       bool // no stream_options
	oldLimit      bool // max_tokens
	noEffort      bool
}

// other is the dialect to try after a refusal in these words.
func (d dialect) other(refusal string, reasoning bool) (dialect, bool) {
	says := func(s string) bool { return strings.Contains(refusal, s) }
	switch {
	case says("stream_options"), says("include_usage"):
		d.noUsage = true
	case says("reasoning_effort"):
		d.noEffort = true
	case says("reasoning") && reasoning:
		d.omitReasoning = !d.omitReasoning
	case says("max_tokens"), says("max_completion_tokens"):
		d.oldLimit = !d.oldLimit
	default:
		return d, false
	}
	return d, true
}
