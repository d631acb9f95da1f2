package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/spf13/cobra"
)

type replayFlags struct {
	update, strict bool
	agent, junit   string
}

func newReplay(c console) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [flags] FILE…",
		Short: "Play recorded sessions again and name what is different",
		Long: `Plays sessions that --record has written against this build, offline: the client's lines go in, the model, the MCP
servers, commands and the clock answer from the record, and what comes out is compared: the lines to the client, the
requests to the model, the calls of tools with their arguments and meta, and the files in the end. Files are read and
written for real, in a temporary folder with those that were recorded. Nothing is executed, and no key, network or
folder of yours is used.

The first difference is named by the record and the place in it (a JSON Pointer), as it was recorded and as it is now.
What was not recorded cannot be held against anything: it is listed as unverified and counted.

With --agent the client's half is played against another ACP agent, a command that speaks on stdin and stdout, in a
temporary folder with the recorded files. Its ids and the borders of its chunks do not count. It gets a small part of
the environment, without keys; "env NAME=value command" gives it more.

Exit codes: 0 no difference, 1 a difference (with --strict also something unverified), 2 a file that cannot be used.`,
		Example: `  cartagent run --yes --record order.txtar "A large latte, please"
  cartagent replay order.txtar
  cartagent replay --junit report.xml testdata/sessions/*.txtar
  cartagent replay --agent "other-agent --acp" order.txtar`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if f.agent != "" && f.update {
				return usageError(errors.New("--update writes what this build does, so it does not go with --agent"))
			}
			return replayFiles(cmd.Context(), c, f, files)
		},
	}
	cmd.Flags().BoolVar(&f.update, "update", false, "rewrite the files as this build plays them, for review as a diff")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit 1 if something was not verified")
	cmd.Flags().Var(nonempty(&f.agent), "agent", "the command of another ACP agent to play against")
	cmd.Flags().Var(nonempty(&f.junit), "junit", "a file to write a report to, as JUnit XML")
	return cmd
}

// verdict is what came of a file.
type verdict struct {
	file                       string
	unusable                   error
	differences, unverified    []string
	lines, requests, callsMade int
	rewritten                  string // what --update has done to the file
}

func (v *verdict) failed(strict bool) bool {
	return v.unusable != nil || len(v.differences) > 0 || strict && len(v.unverified) > 0
}

func replayFiles(ctx context.Context, c console, f replayFlags, files []string) error {
	var all []*verdict
	code := exitOK
	for _, file := range files {
		v := replayFile(ctx, f, file)
		all = append(all, v)
		if _, err := io.WriteString(c.out, v.text(f.strict)); err != nil {
			return &exitCode{code: exitError, err: err}
		}
		switch {
		case v.unusable != nil:
			code = exitUsage
		case v.failed(f.strict) && code == exitOK:
			code = exitError
		}
		if ctx.Err() != nil {
			return &exitCode{code: exitCancelled}
		}
	}
	if f.junit != "" {
		if err := os.WriteFile(f.junit, junitOf(all, f.strict), 0o644); err != nil { //nolint:gosec // a report is no secret
			return &exitCode{code: exitUsage, err: fmt.Errorf("writing the report: %w", err)}
		}
	}
	if code != exitOK {
		return &exitCode{code: code}
	}
	return nil
}

// text is the verdict for people.
func (v *verdict) text(strict bool) string {
	var b strings.Builder
	switch {
	case v.unusable != nil:
		fmt.Fprintf(&b, "%s: it cannot be used: %v\n", v.file, v.unusable)
		return b.String()
	case v.rewritten != "":
		fmt.Fprintf(&b, "%s: %s\n", v.file, v.rewritten)
	case len(v.differences) > 0:
		fmt.Fprintf(&b, "%s: %s\n", v.file, v.differences[0])
	default:
		word := "no difference"
		if v.failed(strict) {
			word = "no difference in what is verified, and something is not"
		}
		fmt.Fprintf(&b, "%s: %s (%d lines, %d model requests, %d tool calls", v.file, word, v.lines, v.requests, v.callsMade)
		if len(v.unverified) > 0 {
			fmt.Fprintf(&b, "; %d unverified", len(v.unverified))
		}
		b.WriteString(")\n")
	}
	for _, u := range v.unverified {
		fmt.Fprintf(&b, "  unverified: %s\n", u)
	}
	return b.String()
}

// replayFile plays one file.
func replayFile(ctx context.Context, f replayFlags, file string) *verdict {
	v := &verdict{file: file}
	data, err := os.ReadFile(file)
	if err != nil {
		v.unusable = err
		return v
	}
	s, err := transcript.Parse(data)
	if err == nil && len(s.Wire) == 0 {
		err = errors.New("wire.jsonl: it has no lines, so there is nothing to play")
	}
	if err != nil {
		v.unusable = err
		return v
	}
	v.lines, v.requests, v.callsMade = len(s.Wire), len(s.Model), len(s.Calls)
	switch {
	case f.agent != "":
		v.differences, v.unverified, v.unusable = playForeign(ctx, s, f.agent)
	case f.update:
		v.unusable = updateFile(ctx, v, s, data)
	default:
		var r *transcript.Replay
		if r, v.unusable = playHere(ctx, s, nil); r != nil {
			v.differences, v.unverified = r.Differences(), r.Unverified()
		}
	}
	return v
}

// updateFile rewrites a file as this build plays it.
func updateFile(ctx context.Context, v *verdict, s *transcript.Scenario, before []byte) error {
	again := &taking{}
	r, err := playHere(ctx, s, again)
	if err != nil {
		return err
	}
	v.unverified = r.Unverified()
	if again.scenario == nil {
		return errors.New("playing it came to no end, so there is nothing to write")
	}
	data, err := again.scenario.Update(s).Format()
	if err != nil {
		return err
	}
	v.rewritten = "unchanged"
	if bytes.Equal(data, before) {
		return nil
	}
	v.rewritten = "updated"
	info, err := os.Stat(v.file)
	if err != nil {
		return err
	}
	at := linked(v.file)
	if err := replaceFile(at, ".cartagent-replay", data); err != nil {
		return err
	}
	return os.Chmod(at, info.Mode().Perm())
}

// taking takes a session that is played as a new recording of it.
type taking struct{ scenario *transcript.Scenario }

// playHere plays a session against this build. With again it is recorded anew, to its end whatever is different.
func playHere(ctx context.Context, s *transcript.Scenario, again *taking) (r *transcript.Replay, err error) {
	st, err := newStage(s, transcript.NewPlainNames)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	if r, err = transcript.NewReplay(s, st.names, st.where); err != nil {
		return nil, err
	}
	p, err := st.replayed(ctx, s, r)
	if err != nil {
		return nil, err
	}
	defer p.close()
	drive := transcript.Drive{Names: st.names, Replay: r}
	tap := func(c io.ReadWriteCloser) io.ReadWriteCloser { return c }
	done := func() {}
	if again != nil {
		drive.On = true
		taken := p.record(nil, nil)
		taken.whole = true
		taken.wrote = func(sc *transcript.Scenario) { again.scenario = sc }
		taken.failed = func(error) {}
		tap, done = taken.conn, taken.close
	}
	agentEnd, clientEnd, hangUp := halfPipe()
	var group sync.WaitGroup
	group.Go(func() {
		var served *agent.Agent
		// How it ends is on the wire.
		_ = acp.Serve(context.WithoutCancel(ctx), tap(agentEnd), func(client *acp.ClientConn) acp.Agent {
			served = agent.New(client, p.options())
			return served
		}, acp.Options{Log: p.log})
		_ = served.Close()
		_ = agentEnd.Close()
	})
	stop := context.AfterFunc(ctx, func() { _ = agentEnd.Close() })
	found := drive.Play(s, clientEnd, hangUp)
	stop()
	_ = agentEnd.Close()
	group.Wait()
	done()
	for _, d := range found {
		r.Differ(d)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if again != nil {
		if again.scenario != nil {
			again.scenario.After, err = st.where.Read()
		}
		return r, err
	}
	if len(r.Differences()) == 0 {
		err = r.Finish()
	}
	return r, err
}

// halfPipe is a connection in memory whose client can say that it has nothing more to say, and still read.
func halfPipe() (agentEnd io.ReadWriteCloser, clientEnd io.ReadWriter, hangUp func()) {
	toAgent, fromClient := io.Pipe()
	toClient, fromAgent := io.Pipe()
	type end struct {
		io.Reader
		io.Writer
	}
	return acp.Stdio(toAgent, fromAgent), end{toClient, fromClient}, func() { _ = fromClient.Close() }
}
