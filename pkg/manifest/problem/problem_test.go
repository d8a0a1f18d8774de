package problem

import "testing"

func TestClosest(t *testing.T) {
	known := []string{"rayVersion", "headGroupSpec", "env", "envFrom"}
	for name, tc := range map[string]struct{ in, want string }{
		"case":                 {"rayversion", "rayVersion"},
		"proto name":           {"head_group_spec", "headGroupSpec"},
		"letter missing":       {"rayVersin", "rayVersion"},
		"letter too many":      {"rayVersionn", "rayVersion"},
		"letter wrong":         {"rayVercion", "rayVersion"},
		"neighbours swapped":   {"headGruopSpec", "headGroupSpec"},
		"something else":       {"podTemplate", ""},
		"too short to guess":   {"en", ""},
		"empty":                {"", ""},
		"case before one slip": {"ENVFROM", "envFrom"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Closest(tc.in, known); got != tc.want {
				t.Errorf("Closest(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}
