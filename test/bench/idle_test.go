package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReportIdle(t *testing.T) {
	var report Report
	s := &session{name: "idle", opts: Options{IdleClusters: 1000, IdleWorkers: 3}, report: &report, logf: t.Logf}
	s.reportIdle(map[request]int{
		{"update", "leases.coordination.k8s.io"}: 30,
		{"watch", "pods"}:                        2,
		{"watch", "services"}:                    1,
		{"list", "pods"}:                         4,
	}, 90, 0.5)
	got := map[string]float64{}
	for _, row := range report.Rows {
		got[row.What+" "+row.Verdict] = row.Measured
	}
	const fleet = "1000 idle RayClusters of 1+3 Pods: "
	want := map[string]float64{
		fleet + "memory of the operator ":                                    90,
		fleet + "CPU of the operator in a minute ":                           0.5,
		fleet + "API requests in a minute besides leases and watches missed": 4,
		"  requests for leases ":                                             30,
		"  watches begun ":                                                   3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestReportRestart(t *testing.T) {
	var report Report
	s := &session{name: "idle", report: &report, logf: t.Logf}
	s.reportRestart(map[request]int{
		{"update", "leases.coordination.k8s.io"}: 30,
		{"create", "events"}:                     1,
		{"patch", "pods"}:                        2,
		{"list", "pods"}:                         1,
		{"watch", "pods"}:                        3, // each continues the list
		{"watch", "services"}:                    2, // begins with a list
	})
	var got []float64
	for _, row := range report.Rows {
		got = append(got, row.Measured)
	}
	if diff := cmp.Diff([]float64{2, 2}, got); diff != "" {
		t.Errorf("writes and lists of a kind (-want +got):\n%s", diff)
	}
}
