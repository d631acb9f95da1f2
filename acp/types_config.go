package acp

import "encoding/json"

// SessionConfigOption is a setting of a session: [SessionConfigSelect], [SessionConfigBoolean] or
// [RawSessionConfigOption].
//
//sumtype:decl
type SessionConfigOption interface{ sessionConfigOption() }

// SessionConfigOptions is a list of settings, the most important first.
type SessionConfigOptions []SessionConfigOption

// SessionConfigSelect is a choice among values.
type SessionConfigSelect struct {
	ID           SessionConfigID             `json:"id"`
	Name         string                      `json:"name"`
	Description  string                      `json:"description,omitzero" acp:"lenient"`
	Category     SessionConfigOptionCategory `json:"category,omitzero" acp:"lenient"`
	CurrentValue SessionConfigValueID        `json:"currentValue"`
	Options      SessionConfigSelectOptions  `json:"options"`
	Meta         map[string]json.RawMessage  `json:"_meta,omitempty" acp:"lenient"`
}

// SessionConfigBoolean is a switch. It may be offered only to a client with [BooleanConfigOptionCapabilities].
type SessionConfigBoolean struct {
	ID           SessionConfigID             `json:"id"`
	Name         string                      `json:"name"`
	Description  string                      `json:"description,omitzero" acp:"lenient"`
	Category     SessionConfigOptionCategory `json:"category,omitzero" acp:"lenient"`
	CurrentValue bool                        `json:"currentValue"`
	Meta         map[string]json.RawMessage  `json:"_meta,omitempty" acp:"lenient"`
}

// RawSessionConfigOption is a setting of a type this package does not know.
type RawSessionConfigOption struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (SessionConfigSelect) sessionConfigOption()    {}
func (SessionConfigBoolean) sessionConfigOption()   {}
func (RawSessionConfigOption) sessionConfigOption() {}

// SessionConfigOptionCategory says what a setting is about. Names of one's own begin with "_"; an unknown one means
// nothing in particular.
type SessionConfigOptionCategory string

// The categories of the protocol.
const (
	CategoryMode         SessionConfigOptionCategory = "mode"
	CategoryModel        SessionConfigOptionCategory = "model"
	CategoryModelConfig  SessionConfigOptionCategory = "model_config"
	CategoryThoughtLevel SessionConfigOptionCategory = "thought_level"
)

// SessionConfigSelectOptions is what a [SessionConfigSelect] chooses from: [UngroupedOptions] or [GroupedOptions].
//
//sumtype:decl
type SessionConfigSelectOptions interface{ sessionConfigSelectOptions() }

// UngroupedOptions is a flat list of values.
type UngroupedOptions []SessionConfigSelectOption

// GroupedOptions is a list of values under headings.
type GroupedOptions []SessionConfigSelectGroup

func (UngroupedOptions) sessionConfigSelectOptions() {}
func (GroupedOptions) sessionConfigSelectOptions()   {}

// SessionConfigSelectOption is a value that can be chosen.
type SessionConfigSelectOption struct {
	Value       SessionConfigValueID       `json:"value"`
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionConfigSelectGroup is a heading with the values under it.
type SessionConfigSelectGroup struct {
	Group   SessionConfigGroupID        `json:"group"`
	Name    string                      `json:"name"`
	Options []SessionConfigSelectOption `json:"options" acp:"lenient,skip"`
	Meta    map[string]json.RawMessage  `json:"_meta,omitempty" acp:"lenient"`
}

// SetSessionConfigOptionRequest changes a setting.
type SetSessionConfigOptionRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	ConfigID  SessionConfigID            `json:"configId"`
	Value     SessionConfigOptionValue   `json:"-" acp:"flat"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SetSessionConfigOptionResponse holds all settings as they are now.
type SetSessionConfigOptionResponse struct {
	ConfigOptions SessionConfigOptions       `json:"configOptions" acp:"lenient,skip"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionConfigOptionValue is the value a setting shall have: [SelectValue] or [BooleanValue].
//
//sumtype:decl
type SessionConfigOptionValue interface{ sessionConfigOptionValue() }

// SelectValue chooses a value of a [SessionConfigSelect].
type SelectValue struct {
	Value SessionConfigValueID `json:"value"`
}

// BooleanValue sets a [SessionConfigBoolean].
type BooleanValue struct {
	Value bool `json:"value"`
}

func (SelectValue) sessionConfigOptionValue()  {}
func (BooleanValue) sessionConfigOptionValue() {}
