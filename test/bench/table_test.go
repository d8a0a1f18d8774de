package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReportAdd(t *testing.T) {
	tests := map[string]struct {
		unit             string
		measured, direct []float64
		aim              *Aim
		want             Row
	}{
		"ratio of medians reached at the limit": {
			unit: "s", measured: []float64{9, 1, 2.2}, direct: []float64{2, 1, 40}, aim: ratioAtMost(1.1),
			want: Row{Unit: "s", Measured: 2.2, Direct: new(2.0), Ratio: new(1.1), Aim: "<= 1.1x", Verdict: "reached"},
		},
		"a strict ratio is missed at the limit": {
			unit: "ms", measured: []float64{1}, direct: []float64{2}, aim: ratioBelow(0.5),
			want: Row{Unit: "ms", Measured: 1, Direct: new(2.0), Ratio: new(0.5), Aim: "< 0.5x", Verdict: "missed"},
		},
		"an even number has its median between two": {
			unit: "writes", measured: []float64{8, 9}, aim: atMost(8),
			want: Row{Unit: "writes", Measured: 8.5, Aim: "<= 8 writes", Verdict: "missed"},
		},
		"a strict limit is missed at the limit": {
			unit: "ms", measured: []float64{20}, aim: below20(),
			want: Row{Unit: "ms", Measured: 20, Aim: "< 20 ms", Verdict: "missed"},
		},
		"a ratio without direct figures is missed": {
			measured: []float64{1}, aim: ratioAtMost(2),
			want: Row{Measured: 1, Aim: "<= 2x", Verdict: "missed"},
		},
		"no aim, no verdict": {measured: []float64{3}, want: Row{Measured: 3}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var r Report
			r.Add(Row{Unit: tc.unit}, tc.measured, tc.direct, tc.aim)
			if diff := cmp.Diff([]Row{tc.want}, r.Rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFigure(t *testing.T) {
	for want, v := range map[string]float64{"0 s": 0, "0.0123 s": 0.01234, "1.23 s": 1.2345, "12.3 s": 12.345, "1235 s": 1234.6, "100 s": 100} {
		if got := figure(v, "s"); got != want {
			t.Errorf("figure(%v) = %q, want %q", v, got, want)
		}
	}
}
