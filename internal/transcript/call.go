package transcript

import (
	"encoding/json"

	"github.com/cartagent/cartagent/loop"
)

// Call is a call of a tool: how it was previewed and run, at loop.Tool's boundary. For a tool of an MCP server that is
// what goes to the server (its name, arguments, idempotency key, trace and answers so far) and what comes back.
type Call struct {
	ID       string       `json:"call"`
	Tool     string       `json:"tool"`
	Server   string       `json:"server,omitempty"` // whose tool it is; empty for one of our own
	Previews []Previewing `json:"previews,omitempty"`
	Runs     []Running    `json:"runs,omitempty"`
	// Unverified says why a tool of our own, which could run in a replay, answers from the record there.
	Unverified string `json:"unverified,omitempty"`
}

// Previewing is one preview of a call. Disk is what files had become since the last call that saw them.
type Previewing struct {
	At      int             `json:"at,omitempty"`
	Disk    Disk            `json:"disk,omitempty"`
	Args    json.RawMessage `json:"args"`
	Preview *loop.Preview   `json:"preview,omitempty"`
	Failure string          `json:"failure,omitempty"`
}

// Running is one run of a call. It ends with a result, a question or a failure; one without any was still running when
// nobody waited for it any more. Left is what files were afterwards that the run itself, which no replay repeats, changed.
type Running struct {
	At       int            `json:"at,omitempty"`
	Disk     Disk           `json:"disk,omitempty"`
	Job      Job            `json:"job"`
	Progress []loop.Blocks  `json:"progress,omitempty"`
	Result   *loop.Result   `json:"result,omitempty"`
	Question *loop.Question `json:"question,omitempty"`
	Failure  string         `json:"failure,omitempty"`
	Left     Disk           `json:"left,omitempty"`
}

// Job is what a tool is given to run.
type Job struct {
	Args    json.RawMessage `json:"args"`
	Key     string          `json:"key,omitempty"`
	Answers []loop.Answer   `json:"answers,omitempty"`
	Trace   loop.Trace      `json:"trace,omitempty"`
}

func jobOf(j loop.Job) Job {
	return Job{Args: j.Call.Args, Key: j.Key, Answers: j.Answers, Trace: j.Trace}
}

// Snapshot is something that came from outside of this build and the workspace, when the session's log had got At
// inputs. One of the others is set.
type Snapshot struct {
	At int `json:"at,omitempty"`
	// Open begins what the session works with.
	Open *Opening `json:"open,omitempty"`
	// Servers are the MCP servers' states, as they are from here on.
	Servers *[]Server `json:"servers,omitempty"`
	// Tools are the servers' tools, from here on.
	Tools *[]loop.Spec `json:"tools,omitempty"`
	// Commands are the servers' prompts as slash commands, from here on.
	Commands *[]Command `json:"commands,omitempty"`
	// Prompt is a prompt that a server was asked for, Resource a resource.
	Prompt   *Fetched `json:"prompt,omitempty"`
	Resource *Fetched `json:"resource,omitempty"`
}

// Opening is what the configuration, which is not recorded, makes of a session.
type Opening struct {
	Model   string        `json:"model"`
	Rules   loop.Rules    `json:"rules,omitempty"`
	Off     []Off         `json:"off,omitempty"`
	Index   string        `json:"index,omitempty"`   // of the servers' tools that are not listed
	Failure *loop.Failure `json:"failure,omitempty"` // it could not be opened
}

// Off is something of the project's that is not in force.
type Off struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Server is the state of an MCP server.
type Server struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Era   string `json:"era,omitempty"`
	Why   string `json:"why,omitempty"`
	Tools int    `json:"tools,omitempty"`
}

// Command is a slash command.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Hint        string `json:"hint,omitempty"`
}

// Fetched is what a server gave: a prompt by its command's name and the text behind it, or a resource by the server's
// name and the URI. Content that is nil without a Failure means that there is no such resource.
type Fetched struct {
	Name    string      `json:"name"`
	Text    string      `json:"text"`
	Asked   []Aside     `json:"asked,omitempty"` // what the person was asked before
	Content loop.Blocks `json:"content,omitempty"`
	Failure string      `json:"failure,omitempty"`
}

// Aside is a question of a server that is about no call.
type Aside struct {
	Server   string        `json:"server"`
	Question loop.Question `json:"question"`
}
