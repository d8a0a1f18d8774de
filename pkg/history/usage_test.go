package history

import (
	"strings"
	"testing"
)

// FuzzUsageKeys holds the keys of usage to these properties: they can be read back with the beginning of queue and owner, they stay
// within the folder of their month, and a folder store has names for them.
func FuzzUsageKeys(f *testing.F) {
	f.Add("team_a", "jane@example.org", 1.5)
	f.Add("", "x.attrs", 0.0)
	f.Add("__0x41__", "../../"+strings.Repeat("ü_", 99), 1e12)
	f.Fuzz(func(t *testing.T, queue, owner string, cpu float64) {
		e := usageEntry{"2026-11", "1f-2e", queue, owner, Usage{CPU: cpu, Memory: 2}}
		key := e.key("team-a")
		name, found := strings.CutPrefix(key, "usage/team-a/2026-11/")
		if !found || strings.Contains(name, "/") || len(name) > 255 && cpu < 1e15 || strings.HasSuffix(key, ".attrs") {
			t.Errorf("key %q", key)
		}
		got, ok := parseUsage(key, "team-a")
		begins := func(text, with string) bool { return strings.HasPrefix(strings.ToValidUTF8(text, ""), with) }
		if !ok || got.uid != e.uid || !begins(queue, got.queue) || !begins(owner, got.owner) {
			t.Errorf("parseUsage(%q) = %+v, %v", key, got, ok)
		}
	})
}
