package agent

import (
	"context"
	"slices"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// The options of a session, by their ids on the wire. What was chosen is kept in the session's log under the same names.
const (
	optionMode     = loop.OptionMode
	optionModel    = "model"
	optionThinking = "thought_level"
	optionThoughts = "thoughts"
)

type mode struct{ id, name, description string }

func (a *Agent) modes() []mode {
	all := []mode{
		{loop.ModeAsk, "Ask", "Asks before it changes something, runs a command or calls a server's tool"},
		{loop.ModeAcceptEdits, "Accept edits", "Edits files in the workspace without asking"},
		{loop.ModePlan, "Plan", "Changes nothing and runs nothing: it reads, and says what it would do"},
	}
	if a.o.Bypass {
		all = append(all, mode{loop.ModeBypass, "Bypass", "Asks for nothing"})
	}
	return all
}

func (a *Agent) defaultModel(cwd string) string {
	if models := a.o.Models(cwd, ""); len(models) > 0 {
		return models[0].ID
	}
	return ""
}

func (a *Agent) model(cwd, id string) (Model, bool) {
	models := a.o.Models(cwd, id)
	i := slices.IndexFunc(models, func(m Model) bool { return m.ID == id })
	if i < 0 {
		return Model{}, false
	}
	return models[i], true
}

// option is the value of an option: the one chosen, or the one that holds by itself.
func (s *session) option(id string) string {
	s.mu.Lock()
	value := s.chosen[id]
	s.mu.Unlock()
	if value != "" {
		return value
	}
	switch id {
	case optionMode:
		return loop.ModeAsk
	case optionModel:
		return s.agent.defaultModel(s.cwd())
	case optionThinking:
		if m, ok := s.agent.model(s.cwd(), s.option(optionModel)); ok && len(m.Thinking) > 0 {
			return m.Thinking[0]
		}
	case optionThoughts:
		return "true"
	}
	return ""
}

// restore takes the options as the log has them, as far as this process still offers them. It is for the owner.
func (s *session) restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range []string{optionMode, optionModel, optionThinking, optionThoughts} {
		s.chosen[id] = s.state.Option(id)
	}
	if !slices.ContainsFunc(s.agent.modes(), func(m mode) bool { return m.id == s.chosen[optionMode] }) {
		s.chosen[optionMode] = ""
	}
	if s.chosen[optionModel] == "" {
		s.chosen[optionModel] = s.agent.defaultModel(s.roots[0])
	}
	if m, ok := s.agent.model(s.roots[0], s.chosen[optionModel]); !ok || !slices.Contains(m.Thinking, s.chosen[optionThinking]) {
		s.chosen[optionThinking] = ""
		if !ok {
			s.chosen[optionModel] = s.agent.defaultModel(s.roots[0])
		}
	}
}

// pin keeps the model that a new session begins with, whatever becomes the default later.
func (s *session) pin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chosen[optionModel] = s.agent.defaultModel(s.roots[0])
}

// modes are the session's modes as clients without config options see them.
func (s *session) modes() *acp.SessionModeState {
	out := &acp.SessionModeState{CurrentModeID: acp.SessionModeID(s.option(optionMode))}
	for _, m := range s.agent.modes() {
		out.AvailableModes = append(out.AvailableModes, acp.SessionMode{ID: acp.SessionModeID(m.id), Name: m.name, Description: m.description})
	}
	return out
}

// configOptions are all of the session's options, in the order of their importance.
func (s *session) configOptions() acp.SessionConfigOptions {
	var modes, models, levels acp.UngroupedOptions
	for _, m := range s.agent.modes() {
		modes = append(modes, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.id), Name: m.name, Description: m.description})
	}
	for _, m := range s.agent.o.Models(s.cwd(), s.option(optionModel)) {
		models = append(models, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.ID), Name: m.Name})
	}
	out := acp.SessionConfigOptions{
		selectOption(optionMode, "Mode", acp.CategoryMode, s.option(optionMode), modes),
		selectOption(optionModel, "Model", acp.CategoryModel, s.option(optionModel), models),
	}
	if m, ok := s.agent.model(s.cwd(), s.option(optionModel)); ok && len(m.Thinking) > 0 {
		for _, l := range m.Thinking {
			levels = append(levels, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(l), Name: l})
		}
		out = append(out, selectOption(optionThinking, "Thinking", acp.CategoryThoughtLevel, s.option(optionThinking), levels))
	}
	if s.agent.booleans() {
		out = append(out, acp.SessionConfigBoolean{
			ID: optionThoughts, Name: "Show thoughts", Description: "Show the model's reasoning, where it has any",
			CurrentValue: s.option(optionThoughts) == "true",
		})
	}
	return out
}

func selectOption(id, name string, category acp.SessionConfigOptionCategory, value string, options acp.UngroupedOptions) acp.SessionConfigSelect {
	return acp.SessionConfigSelect{
		ID: acp.SessionConfigID(id), Name: name, Category: category,
		CurrentValue: acp.SessionConfigValueID(value), Options: options,
	}
}

// booleans says whether the client takes options that are on or off.
func (a *Agent) booleans() bool {
	caps := a.client.Capabilities().Session
	return caps != nil && caps.ConfigOptions != nil && caps.ConfigOptions.Boolean != nil
}

// SetSessionMode implements acp.ModeSetter.
func (a *Agent) SetSessionMode(r *acp.SetSessionModeRequest) (func(context.Context) (*acp.SetSessionModeResponse, error), error) {
	s := a.session(r.SessionID)
	if s == nil {
		return nil, notOpen(r.SessionID)
	}
	enter := s.line()
	return func(ctx context.Context) (*acp.SetSessionModeResponse, error) {
		leave, err := enter(ctx)
		defer leave()
		if err != nil {
			return nil, err
		}
		if err := s.choose(ctx, optionMode, string(r.ModeID)); err != nil {
			return nil, err
		}
		return nil, s.update(ctx, acp.ConfigOptionUpdate{ConfigOptions: s.configOptions()})
	}, nil
}

// line takes a place behind those who set an option and have not come to the end of it. It is taken as the request is
// read, so that what was asked for last is what holds. The place must be left, whether it was entered or not.
func (s *session) line() (enter func(context.Context) (leave func(), err error)) {
	mine := make(chan struct{})
	s.mu.Lock()
	before := s.choosing
	s.choosing = mine
	s.mu.Unlock()
	return func(ctx context.Context) (func(), error) {
		leave := func() { close(mine) }
		if before == nil {
			return leave, nil
		}
		select {
		case <-before:
			return leave, nil
		case <-ctx.Done():
			return func() { go func() { <-before; leave() }() }, ctx.Err() // those behind wait for the ones before
		}
	}
}

// SetSessionConfigOption implements acp.ConfigSetter.
func (a *Agent) SetSessionConfigOption(r *acp.SetSessionConfigOptionRequest) (func(context.Context) (*acp.SetSessionConfigOptionResponse, error), error) {
	s := a.session(r.SessionID)
	if s == nil {
		return nil, notOpen(r.SessionID)
	}
	value := ""
	switch v := r.Value.(type) {
	case acp.SelectValue:
		value = string(v.Value)
	case acp.BooleanValue:
		if value = "false"; v.Value {
			value = "true"
		}
		if r.ConfigID != optionThoughts {
			return nil, acp.InvalidParams("params/value: %s is not an option that is on or off", r.ConfigID)
		}
	}
	enter := s.line()
	return func(ctx context.Context) (*acp.SetSessionConfigOptionResponse, error) {
		leave, err := enter(ctx)
		defer leave()
		if err != nil {
			return nil, err
		}
		if err := s.choose(ctx, string(r.ConfigID), value); err != nil {
			return nil, err
		}
		options := s.configOptions()
		return &acp.SetSessionConfigOptionResponse{ConfigOptions: options}, s.update(ctx, acp.ConfigOptionUpdate{ConfigOptions: options})
	}, nil
}

// choose sets an option, in the log and for the turn that runs, and tells of a mode. Its caller is first in line.
func (s *session) choose(ctx context.Context, id, value string) error {
	if err := s.offered(id, value); err != nil {
		return err
	}
	if err := s.apply(ctx, loop.Chosen{Option: id, Value: value}); err != nil {
		return err
	}
	s.mu.Lock()
	s.chosen[id] = value
	s.mu.Unlock()
	switch id {
	case optionMode:
		return s.update(ctx, acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(value)})
	case optionModel: // a level of thought is one of its model's
		s.mu.Lock()
		was := s.chosen[optionThinking]
		delete(s.chosen, optionThinking)
		s.mu.Unlock()
		if was != "" {
			return s.apply(ctx, loop.Chosen{Option: optionThinking})
		}
	}
	return nil
}

// offered says whether an option has that value to choose.
func (s *session) offered(id, value string) error {
	for _, o := range s.configOptions() {
		switch v := o.(type) {
		case acp.SessionConfigSelect:
			options, ok := v.Options.(acp.UngroupedOptions)
			if string(v.ID) != id || !ok {
				continue
			}
			if slices.ContainsFunc(options, func(o acp.SessionConfigSelectOption) bool { return string(o.Value) == value }) {
				return nil
			}
			return acp.InvalidParams("there is no %s %q", id, value)
		case acp.SessionConfigBoolean:
			if string(v.ID) == id && (value == "true" || value == "false") {
				return nil
			}
		case acp.RawSessionConfigOption: // not one of ours
		}
	}
	return acp.InvalidParams("there is no option %q with the value %q", id, value)
}

// usage tells how full the model's window is, where it is known how large that is.
func (s *session) usage(u loop.Usage) (acp.SessionUpdate, bool) {
	m, ok := s.agent.model(s.cwd(), s.option(optionModel))
	if !ok || m.Window <= 0 || u.Input < 0 || u.Output < 0 {
		return nil, false
	}
	return acp.UsageUpdate{Used: uint64(u.Input + u.Output), Size: uint64(m.Window)}, true //nolint:gosec // not negative
}
