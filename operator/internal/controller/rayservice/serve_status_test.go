package rayservice

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

// assertSavable fails for a status that the API server or etcd refuses.
func assertSavable(t *testing.T, st *rayv1.RayServiceStatuses) {
	t.Helper()
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 1<<20 {
		t.Errorf("a status of %d bytes", len(text))
	}
	for _, c := range st.Conditions {
		if len(c.Message) > 32<<10 || c.Reason == "" {
			t.Errorf("condition %s with a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

// TestStatusFits for any answer of Ray, and the rest still shows whether all applications run.
func TestStatusFits(t *testing.T) {
	long := strings.Repeat("<\u00e9>", 1<<20)
	for name, tc := range map[string]struct {
		details func(map[string]dashboard.ServeApplication)
		want    int // applications, at least
	}{
		"long messages": {func(all map[string]dashboard.ServeApplication) {
			for i := range 500 {
				all[fmt.Sprint("app", i)] = dashboard.ServeApplication{Status: "RUNNING", Message: long}
			}
		}, 10},
		"long names and words": {func(all map[string]dashboard.ServeApplication) {
			all[long] = dashboard.ServeApplication{Status: long, Deployments: map[string]dashboard.ServeDeployment{long: {Status: long, Message: long}}}
		}, 1},
		"many": {func(all map[string]dashboard.ServeApplication) {
			for i := range 20000 {
				all[fmt.Sprint(i)] = dashboard.ServeApplication{Status: "RUNNING"}
			}
		}, 500},
		"many deployments": {func(all map[string]dashboard.ServeApplication) {
			a := dashboard.ServeApplication{Status: "RUNNING", Deployments: map[string]dashboard.ServeDeployment{}}
			for i := range 20000 {
				a.Deployments[fmt.Sprint(i)] = dashboard.ServeDeployment{Status: "HEALTHY"}
			}
			all["one"] = a
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := &dashboard.ServeDetails{Applications: map[string]dashboard.ServeApplication{}}
			tc.details(d.Applications)
			st := rayv1.RayServiceStatuses{ActiveServiceStatus: rayv1.RayServiceStatus{Applications: statusesOf(d)}}
			assertSavable(t, &st)
			if n := len(st.ActiveServiceStatus.Applications); n < tc.want {
				t.Errorf("%d applications are left", n)
			}
			d.Applications["zz"] = dashboard.ServeApplication{Status: "UNHEALTHY", Message: "ill"}
			if got := statusesOf(d)["zz"]; got.Message != "ill" {
				t.Errorf("what is wrong is left out")
			}
		})
	}
	twice := statusesOf(&dashboard.ServeDetails{Applications: map[string]dashboard.ServeApplication{"": {Status: "RUNNING"}, "default": {Status: "DEPLOYING"}}})
	if len(twice) != 1 || twice["default"].Status != "DEPLOYING" {
		t.Errorf("two of one name become %v", twice)
	}
}
