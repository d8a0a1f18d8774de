package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/operator/internal/reconcile"
)

func TestRun(t *testing.T) {
	type step = reconcile.Step[*[]string]
	named := func(name string, o reconcile.Outcome, err error) step {
		return step{Name: name, Run: func(_ context.Context, ran *[]string) (reconcile.Outcome, error) {
			*ran = append(*ran, name)
			return o, err
		}}
	}
	cases := map[string]struct {
		second    step
		wantRan   []string
		wantDone  []bool // of a, b and c
		wantAfter time.Duration
		wantErr   bool
	}{
		"all go on":  {second: named("b", reconcile.Outcome{After: time.Second}, nil), wantRan: []string{"a", "b", "c"}, wantDone: []bool{true, true, true}, wantAfter: time.Second},
		"one stops":  {second: named("b", reconcile.Outcome{Stop: true}, nil), wantRan: []string{"a", "b"}, wantDone: []bool{true, true, false}, wantAfter: time.Minute},
		"one fails":  {second: named("b", reconcile.Outcome{After: time.Second}, errors.New("no")), wantRan: []string{"a", "b"}, wantDone: []bool{true, false, false}, wantAfter: time.Minute, wantErr: true},
		"later ones": {second: named("b", reconcile.Outcome{After: time.Hour}, nil), wantRan: []string{"a", "b", "c"}, wantDone: []bool{true, true, true}, wantAfter: time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var ran []string
			p, err := reconcile.Run(t.Context(), []step{named("a", reconcile.Outcome{After: time.Minute}, nil), tc.second, named("c", reconcile.Outcome{}, nil)}, &ran)
			if (err != nil) != tc.wantErr || p.After != tc.wantAfter {
				t.Errorf("error %v, look again after %s", err, p.After)
			}
			if diff := cmp.Diff(tc.wantRan, ran); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantDone, []bool{p.Done("a"), p.Done("b"), p.Done("c")}); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}
