package main

import (
	"math"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

func counted(counts ...uint64) *dto.Histogram {
	ends := []float64{0.01, 0.1, 1, math.Inf(1)}
	h := &dto.Histogram{}
	for i, n := range counts {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &ends[i], CumulativeCount: &n})
	}
	return h
}

func TestQuantile(t *testing.T) {
	cases := map[string]struct {
		before, after *dto.Histogram
		want          float64
	}{
		"nothing":           {counted(5, 5, 5, 5), counted(5, 5, 5, 5), 0},
		"all in the first":  {counted(0, 0, 0, 0), counted(100, 100, 100, 100), 0.0099},
		"in the second":     {counted(50, 50, 50, 50), counted(148, 150, 150, 150), 0.055},
		"beyond all":        {counted(0, 0, 0, 0), counted(0, 0, 0, 10), 1},
		"nothing before":    {nil, counted(0, 100, 100, 100), 0.01 + 0.09*0.99},
		"not what was once": {counted(0, 0, 1000, 1000), counted(100, 100, 1100, 1100), 0.0099},
	}
	for name, tc := range cases {
		if got := quantile(0.99, tc.before, tc.after); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestRequestsToRayAreNoWrites(t *testing.T) {
	var f jobFigures
	f.count(map[request]int{
		{"create", "services/proxy"}: 100, {"update", "rayjobs.ray.io/status"}: 10, {"patch", "rayjobs.ray.io"}: 2,
		{"create", "rayclusters.ray.io"}: 2, {"get", "rayjobs.ray.io"}: 50,
	}, 2)
	if f.own[0] != 6 || f.all[0] != 7 || len(f.verbs) != 3 {
		t.Errorf("%+v", f)
	}
}
