package mcpclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allow, deny []string
		tool        string
		want        bool
	}{
		"no lists":               {nil, nil, "add", true},
		"allowed by name":        {[]string{"add"}, nil, "add", true},
		"not allowed":            {[]string{"add"}, nil, "remove", false},
		"allowed by pattern":     {[]string{"get_*"}, nil, "get_order", true},
		"not by a part":          {[]string{"get"}, nil, "get_order", false},
		"one character":          {[]string{"v?"}, nil, "v1", true},
		"denied by name":         {nil, []string{"add"}, "add", false},
		"denied by pattern":      {nil, []string{"*_order"}, "place_order", false},
		"others are not denied":  {nil, []string{"*_order"}, "add", true},
		"deny wins":              {[]string{"*"}, []string{"add"}, "add", false},
		"deny wins over a name":  {[]string{"add"}, []string{"a*"}, "add", false},
		"a star goes over slash": {nil, []string{"admin*"}, "admin/users/remove", false},
		"a name with brackets":   {[]string{"a[b"}, nil, "a[b", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Server{Allow: c.allow, Deny: c.deny}
			assert.Equal(t, c.want, s.offers(c.tool))
		})
	}
}
