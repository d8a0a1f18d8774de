package scripts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAmounts holds what the pages say of CPUs and memory: small amounts are not 0.
func TestAmounts(t *testing.T) {
	s := scriptOf(t, "../lib/quantity")
	for text, want := range map[string][2]any{
		"":        {"", nil},
		"0":       {"", nil},
		"odd":     {"", nil},
		"20m":     {"20m", []any{"1", "B"}},
		"999m":    {"999m", []any{"1", "B"}},
		"100u":    {"1m", []any{"1", "B"}},
		"0.5":     {"500m", []any{"1", "B"}},
		"1":       {"1", []any{"1", "B"}},
		"1500m":   {"1.5", []any{"2", "B"}},
		"12":      {"12", []any{"12", "B"}},
		"1e3":     {"1,000", []any{"1,000", "B"}},
		"20Mi":    {"20,971,520", []any{"20", "MiB"}},
		"10k":     {"10,000", []any{"9.8", "KiB"}},
		"1023Mi":  {"1,072,693,248", []any{"1,023", "MiB"}},
		"1Gi":     {"1,073,741,824", []any{"1", "GiB"}},
		"2560Mi":  {"2,684,354,560", []any{"2.5", "GiB"}},
		"1.5Ti":   {"1,649,267,441,664", []any{"1,536", "GiB"}},
		"5242880": {"5,242,880", []any{"5", "MiB"}},
	} {
		got := [2]any{s.get("countText(text)", object{"text": text}), s.get("bytesText(text)", object{"text": text})}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
