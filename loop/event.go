package loop

// Event is something a client is told.
//
//sumtype:decl
type Event interface{ event() }

type (
	// UserText is a piece of the prompt. It is news only to a client that loads the session later.
	UserText struct {
		MessageID string
		Part      Block
	}
	// AgentText is text of the agent's message. Chunks with one MessageID are one message.
	AgentText struct {
		MessageID string
		Text      string
	}
	// AgentThought is reasoning, in messages of its own.
	AgentThought struct {
		MessageID string
		Text      string
	}
	// ToolProposed announces a call, before anything is known of it but its arguments.
	ToolProposed struct {
		Call  Call
		Title string
		Kind  Kind
	}
	// ToolPreviewed says what the call would do.
	ToolPreviewed struct {
		CallID  string
		Preview Preview
	}
	// ToolStarted says that the call runs.
	ToolStarted struct{ CallID string }
	// ToolInterrupted says that nothing runs the call any more, and that the next prompt comes back to it.
	ToolInterrupted struct{ CallID string }
	// ToolProgress shows what a running call has so far.
	ToolProgress struct {
		CallID string
		Part   Blocks
	}
	// PlanChanged is the whole of the agent's plan, as it is now.
	PlanChanged struct{ Entries []PlanEntry }
	// TitleChanged names the session.
	TitleChanged struct{ Title string }
	// CompactionStarted says that the conversation is being summarized.
	CompactionStarted struct{ ID string }
	// CompactionSummary is what stands for the conversation so far from now on.
	CompactionSummary struct{ ID, Text string }
	// CompactionFinished ends what CompactionStarted began, exactly once.
	CompactionFinished struct {
		ID     string
		Status CompactionStatus
	}
	// UsageChanged says how many tokens the latest model request used.
	UsageChanged struct{ Usage Usage }
	// ToolFinished settles a call. Each call that was proposed is settled exactly once, before its turn ends.
	ToolFinished struct{ Result Result }
)

// CompactionStatus is how a compaction ended.
type CompactionStatus string

// The ends of a compaction. Only a completed one has changed anything.
const (
	CompactionCompleted CompactionStatus = "completed"
	CompactionFailed    CompactionStatus = "failed"
	CompactionCancelled CompactionStatus = "cancelled"
)

func (UserText) event()           {}
func (AgentText) event()          {}
func (AgentThought) event()       {}
func (ToolProposed) event()       {}
func (ToolPreviewed) event()      {}
func (ToolStarted) event()        {}
func (ToolInterrupted) event()    {}
func (ToolProgress) event()       {}
func (ToolFinished) event()       {}
func (PlanChanged) event()        {}
func (TitleChanged) event()       {}
func (UsageChanged) event()       {}
func (CompactionStarted) event()  {}
func (CompactionSummary) event()  {}
func (CompactionFinished) event() {}
