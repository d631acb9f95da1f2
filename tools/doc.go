// Package tools holds the tools that a model works with in a workspace: read, list, search, write, edit and terminal,
// and those that need only its person: plan and ask.
//
// A [Workspace] is the boundary. It holds the session's roots open as [os.Root] handles, and every path a model names
// is mapped onto one of them and opened beneath it, so that links, races and /proc cannot lead out:
//
//	"docs/a.md" ──Resolve──> real place beneath a root ──FS──> this disk, or the ACP client's files
//
// Files that hold the person's keys are hidden from it ([Workspace.Hide]), and those that decide what may run are changed with
// the person's word alone ([Workspace.Guard]), by whatever name they are reached.
//
// A tool is a typed function, made by [Define]: the schema comes from its argument struct, its prose from the .md file
// beside it. No tool asks for permission. A preview says what a call would touch, the loop's rules decide, and Run does
// just what was shown or refuses: a file that changed since is not overwritten.
//
// Text files are read and written by way of [FS]; list, search and pictures always see this disk. Commands
// run as process groups of our own, or where the options have a [Terminal], in that.
//
// What a model gets back is bounded in lines and bytes, and says what is missing and how to get it.
//
// The package must not import anything of cartagent but loop.
package tools

import (
	"context"
	"embed"
	"os"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

//go:embed *.md
var prose embed.FS

// describe is the text of a tool's .md file.
func describe(tool string) string {
	text, err := prose.ReadFile(tool + ".md")
	if err != nil {
		panic("tools: " + tool + ".md is not part of the build")
	}
	return strings.TrimSpace(string(text))
}

// FS is where the contents of files come from and go to. The local one is Workspace; an agent passes the ACP client's
// where the client offers it. Names are absolute paths as Workspace.Resolve gives them. A file that does not exist is
// an error that matches fs.ErrNotExist.
type FS interface {
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// WriteFile replaces the file's content as a whole, or leaves it as it was.
	WriteFile(ctx context.Context, name string, data []byte) error
}

// Options says what a session's tools work on.
type Options struct {
	// Workspace is the boundary, and must not be nil. It stays the caller's to close.
	Workspace *Workspace
	// FS has the contents of text files. Nil means the local disk.
	FS FS
	// Env is the whole environment of commands. Nil means TerminalEnv(os.Environ()).
	Env []string
	// Shell runs commands by its option -c. Empty means /bin/sh.
	Shell string
	// Terminal runs commands elsewhere. Nil means as processes of our own.
	Terminal Terminal
}

// kit is what the tools of one session share.
type kit struct {
	ws       *Workspace
	fs       FS // never nil
	local    bool
	env      []string
	shell    string
	terminal Terminal // nil: own processes
	seen     *ledger
}

// All makes a session's tools. They share what has been read, so make them once a session.
func All(o Options) []loop.Tool {
	k := &kit{ws: o.Workspace, fs: o.FS, env: o.Env, shell: o.Shell, terminal: o.Terminal, seen: newLedger()}
	if k.fs == nil {
		k.fs, k.local = o.Workspace, true
	}
	if k.env == nil {
		k.env = TerminalEnv(os.Environ())
	}
	if k.shell == "" {
		k.shell = "/bin/sh"
	}
	return []loop.Tool{
		k.readTool(), k.listTool(), k.searchTool(), k.writeTool(), k.editTool(), k.terminalTool(), planTool(), askTool(),
	}
}
