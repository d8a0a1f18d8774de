package children

import "testing"

func TestSame(t *testing.T) {
	type m = map[string]any
	type l = []any
	cases := map[string]struct {
		a, b any
		want bool
	}{
		"texts":                   {"a", "a", true},
		"other texts":             {"a", "b", false},
		"nothing and nothing":     {nil, nil, true},
		"nothing and an empty":    {nil, l{}, true},
		"an empty and nothing":    {m{}, nil, true},
		"nothing and something":   {nil, "a", false},
		"lists":                   {l{"a", "b"}, l{"a", "b"}, true},
		"lists in another order":  {l{"a", "b"}, l{"b", "a"}, false},
		"a longer list":           {l{"a"}, l{"a", "b"}, false},
		"a list and a text":       {l{}, "a", false},
		"maps":                    {m{"k": "a"}, m{"k": "a", "empty": l{}}, true},
		"a map with more":         {m{"k": "a"}, m{"k": "a", "more": "b"}, false},
		"a map with less":         {m{"k": "a", "more": "b"}, m{"k": "a"}, false},
		"a map and a text":        {m{}, "a", false},
		"lists of different maps": {l{m{"k": "a"}, m{"k": "b"}}, l{m{"k": "a"}, m{"k": "c"}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := same(tc.a, tc.b); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}
