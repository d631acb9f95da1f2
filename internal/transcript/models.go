package transcript

// ModelInfo is a model that could be chosen. Its fields are those of agent.Model, in their order.
type ModelInfo struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Thinking []string `json:"thinking,omitempty"`
	Window   int      `json:"window,omitempty"`
	Offline  bool     `json:"offline,omitempty"`
}

// Models are those that could be chosen.
type Models []ModelInfo
