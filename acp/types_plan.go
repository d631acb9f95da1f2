package acp

import "encoding/json"

// PlanEntry is a step of a plan.
type PlanEntry struct {
	Content  string                     `json:"content"`
	Priority PlanEntryPriority          `json:"priority"`
	Status   PlanEntryStatus            `json:"status"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// PlanEntryPriority says how much a step matters.
type PlanEntryPriority string

// The priorities.
const (
	PriorityHigh   PlanEntryPriority = "high"
	PriorityMedium PlanEntryPriority = "medium"
	PriorityLow    PlanEntryPriority = "low"
)

func (p PlanEntryPriority) known() bool {
	return p == PriorityHigh || p == PriorityMedium || p == PriorityLow
}

// PlanEntryStatus says how far a step is.
type PlanEntryStatus string

// The states of a step.
const (
	PlanPending    PlanEntryStatus = "pending"
	PlanInProgress PlanEntryStatus = "in_progress"
	PlanCompleted  PlanEntryStatus = "completed"
)

func (s PlanEntryStatus) known() bool {
	return s == PlanPending || s == PlanInProgress || s == PlanCompleted
}

// AvailableCommand is a slash command. Input is nil if it takes none.
type AvailableCommand struct {
	Name        string                     `json:"name"`
	Description string                     `json:"description"`
	Input       *UnstructuredCommandInput  `json:"input,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// UnstructuredCommandInput says that all that is typed after a command's name is its input. It is the only kind of
// input there is.
type UnstructuredCommandInput struct {
	Hint string                     `json:"hint"`
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Cost is an amount of money. Currency is a code of ISO 4217.
type Cost struct {
	Amount   float64                    `json:"amount"`
	Currency string                     `json:"currency"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// NoticeSeverity says how bad a notice is. One this package does not know is kept as it came.
type NoticeSeverity string

// The severities.
const (
	SeverityInfo    NoticeSeverity = "info"
	SeverityWarning NoticeSeverity = "warning"
	SeverityError   NoticeSeverity = "error"
)

// CompactionStatus says how far a compaction is. One this package does not know is kept as it came.
type CompactionStatus string

// The states of a compaction.
const (
	CompactionInProgress CompactionStatus = "in_progress"
	CompactionCompleted  CompactionStatus = "completed"
	CompactionFailed     CompactionStatus = "failed"
	CompactionCancelled  CompactionStatus = "cancelled"
)
