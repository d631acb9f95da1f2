package tools_test

import (
	"strings"
	"testing"

	"github.com/cartagent/cartagent/tools"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a model asks for does not decide how much memory or time it takes.
func TestEditsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := tools.Apply(strings.Repeat("a", 3<<20), []tools.Edit{{Old: "a", New: strings.Repeat("b", 1<<20), All: true}})
	require.ErrorContains(t, err, "the limit is")
	double := make([]tools.Edit, 60)
	for i := range double {
		double[i] = tools.Edit{Old: "a", New: "aa", All: true}
	}
	_, err = tools.Apply(strings.Repeat("a", 100), double)
	require.ErrorContains(t, err, "the limit is")
}

func TestNestedCommandsAreBounded(t *testing.T) {
	t.Parallel()
	subjects, _ := tools.Commands("find . " + strings.Repeat("-exec find . ", 60) + "-exec ls -l")
	require.Len(t, subjects, 1)
	assert.Contains(t, subjects[0].Also, []string{"ls", "-l"})
	_, caution := tools.Commands("find . " + strings.Repeat("-exec find . ", 1000) + "-exec ls -l")
	assert.NotEmpty(t, caution)
}
