package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// --yes allows; it chooses no answer to a question of the model's.
func TestYesAnswersNoQuestion(t *testing.T) {
	t.Parallel()
	question := []acp.PermissionOption{
		{OptionID: "answer_1", Name: "Drop the table", Kind: acp.PermissionAllowOnce},
		{OptionID: "answer_2", Name: "Keep it", Kind: acp.PermissionAllowOnce},
		{OptionID: "none", Name: "None of these", Kind: acp.PermissionRejectOnce},
	}
	permission := []acp.PermissionOption{
		{OptionID: "allow_once", Kind: acp.PermissionAllowOnce}, {OptionID: "reject_once", Kind: acp.PermissionRejectOnce},
	}
	doubt := []acp.PermissionOption{
		{OptionID: "allow_once", Name: loop.RunAgain, Kind: acp.PermissionAllowOnce}, {OptionID: "reject_once", Name: "Leave it", Kind: acp.PermissionRejectOnce},
	}
	for _, tc := range []struct {
		yes     bool
		options []acp.PermissionOption
		want    acp.PermissionOptionID
		denied  bool
		says    string
	}{
		{true, permission, "allow_once", false, ""},
		{false, permission, "reject_once", true, "refused, since there is no terminal"},
		{true, doubt, "reject_once", true, "not run again, since there is no terminal to ask on"},
		{false, doubt, "reject_once", true, "not run again, since there is no terminal to ask on"},
		{true, question, "", false, "not answered, since there is no terminal"},
		{false, question, "", false, "not answered, since there is no terminal"},
	} {
		var errs bytes.Buffer
		c := console{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &errs, env: func(string) string { return "" }}
		term := &terminal{console: c, yes: tc.yes, calls: make(map[acp.ToolCallID]*shownCall)}
		r, err := term.RequestPermission(t.Context(), &acp.RequestPermissionRequest{Options: tc.options})
		if tc.want == "" {
			require.ErrorContains(t, err, "there is no terminal to ask on", "it is no answer: the model is to ask in words")
		} else {
			require.NoError(t, err)
			assert.Equal(t, acp.Selected{OptionID: tc.want}, r.Outcome)
		}
		assert.Equal(t, tc.denied, term.denied.Load())
		assert.Contains(t, errs.String(), tc.says)
	}
}
