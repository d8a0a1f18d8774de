package raycluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

func TestWaits(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	changed := rc.DeepCopy()
	changed.Generation++
	fourTimes := func(r *retries) {
		for range 4 {
			r.refused(rc, creating, "g", nil)
		}
	}
	cases := map[string]struct {
		did     func(*retries)
		cluster *rayv1.RayCluster
		act     act
		group   string
		after   time.Duration
		want    time.Duration
	}{
		"nothing happened":            {did: func(*retries) {}, want: 0},
		"refused":                     {did: func(r *retries) { r.refused(rc, creating, "g", nil) }, want: time.Second},
		"refused four times":          {did: fourTimes, want: 8 * time.Second},
		"half of it is over":          {did: fourTimes, after: 4 * time.Second, want: 4 * time.Second},
		"most of it is over":          {did: fourTimes, after: 7900 * time.Millisecond, want: time.Second},
		"all of it is over":           {did: fourTimes, after: 8 * time.Second},
		"refused, then accepted":      {did: func(r *retries) { fourTimes(r); r.accepted(rc, creating, "g") }},
		"under a changed spec":        {did: fourTimes, cluster: changed},
		"for another group":           {did: fourTimes, group: "other"},
		"of deletions":                {did: fourTimes, act: deleting},
		"ended":                       {did: func(r *retries) { r.ended(rc, "g") }, want: time.Second},
		"ended, of deletions":         {did: func(r *retries) { r.ended(rc, "g") }, act: deleting},
		"ended, under another spec":   {did: func(r *retries) { r.ended(rc, "g") }, cluster: changed, want: time.Second},
		"interrupted makes none wait": {did: func(r *retries) { r.interrupted(rc, "g") }},
		"refused very often": {did: func(r *retries) {
			for range 9 {
				r.refused(rc, creating, "g", nil)
			}
		}, want: lastRetry},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakeClock(raytest.Epoch.Time)
			r := newRetries(c)
			tc.did(r)
			c.Step(tc.after)
			if tc.cluster == nil {
				tc.cluster = rc
			}
			if tc.act == "" {
				tc.act = creating
			}
			if tc.group == "" {
				tc.group = "g"
			}
			if diff := cmp.Diff(tc.want, r.wait(tc.cluster, tc.act, tc.group)); diff != "" {
				t.Errorf("wait (-want +got):\n%s", diff)
			}
		})
	}
}
