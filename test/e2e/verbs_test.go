package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What people do with a cluster, each by one request: wait, scale, suspend, resume, ask what is wrong, see what happened.
func TestVerbs(t *testing.T) {
	ns := namespace(t)
	one := clustersOf(ns) + "/demo"
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 1)).want(t, 201)
	rest(t, "GET", one+":wait?for=ready&timeout=150s", "", nil).want(t, 200)
	waitReady(t, ns, "demo", 1)

	rest(t, "POST", one+":scale", "application/json", []byte(`{"replicas":3}`)).want(t, 200)
	waitReady(t, ns, "demo", 3)
	rest(t, "PATCH", one, "application/yaml", []byte("metadata: {labels: {team: a}}\n")).want(t, 200)
	rest(t, "POST", one+":apply?fieldManager=e2e", "application/yaml", []byte("metadata: {labels: {tier: web}}\n")).want(t, 200)
	if diff := cmp.Diff(map[string]string{"team": "a", "tier": "web"}, stored(t, ns, "demo").Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	type diagnosis struct {
		Ready    bool
		Findings []struct{ Severity, Reason, Message string }
	}
	diagnose := func() (d diagnosis) {
		rest(t, "GET", one+":diagnose", "", nil).want(t, 200).decode(t, &d)
		return d
	}
	if d := diagnose(); !d.Ready || len(d.Findings) > 0 {
		t.Errorf("a cluster that is ready is diagnosed with %+v", d)
	}
	rest(t, "POST", one+":suspend", "", nil).want(t, 200)
	rest(t, "GET", one+":wait?for=suspended&timeout=150s", "", nil).want(t, 200)
	if d := diagnose(); d.Ready || len(d.Findings) != 1 || d.Findings[0].Reason != "Suspended" {
		t.Errorf("a suspended cluster is diagnosed with %+v", d)
	}
	rest(t, "POST", one+":resume", "", nil).want(t, 200)
	waitReady(t, ns, "demo", 3)

	var events struct {
		Events []struct {
			Reason string
			Object struct{ Kind string }
		}
	}
	rest(t, "GET", one+"/events?includeChildren=true&pageSize=1000", "", nil).want(t, 200).decode(t, &events)
	seen := map[string]bool{}
	for _, e := range events.Events {
		seen[e.Object.Kind] = true
	}
	if !seen["RayCluster"] || !seen["Pod"] {
		t.Errorf("events are about %v, want RayCluster and Pod", seen)
	}
	rest(t, "DELETE", one, "", nil).want(t, 200)
	rest(t, "GET", one+":wait?for=deleted&timeout=150s", "", nil).want(t, 200)
}
