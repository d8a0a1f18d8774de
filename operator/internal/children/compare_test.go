package children

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEmptied: a merge patch keeps what it does not mention.
func TestEmptied(t *testing.T) {
	type m = map[string]any
	type l = []any
	cases := map[string]struct{ wanted, found, want any }{
		"nothing is wanted":     {nil, m{"k": "a"}, nil},
		"nothing is found":      {m{"k": "a"}, nil, m{"k": "a"}},
		"a list":                {l{"a"}, l{"a", "b"}, l{"a"}},
		"a key too many":        {m{"k": "a"}, m{"k": "b", "more": "b"}, m{"k": "a", "more": nil}},
		"a key too many inside": {m{"k": m{}, "own": "a"}, m{"k": m{"more": m{"x": "y"}}}, m{"k": m{"more": nil}, "own": "a"}},
		"another kind of value": {m{"k": "a"}, m{"k": m{"more": "b"}}, m{"k": "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, emptied(tc.wanted, tc.found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
