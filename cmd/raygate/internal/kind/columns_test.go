package kind

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go/convert"
)

// TestServiceColumns shows both clusters of an upgrade with their shares and applications, and first what keeps it from going on.
func TestServiceColumns(t *testing.T) {
	running := map[string]rayv1.AppStatus{"shop": {Status: "RUNNING"}}
	conditions := func(kinds ...string) (list []metav1.Condition) {
		for _, kind := range kinds {
			list = append(list, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind + "Reason"})
		}
		return list
	}
	for name, tc := range map[string]struct {
		status  rayv1.RayServiceStatuses
		columns map[string]any
		summary string
	}{
		"nothing yet": {
			columns: map[string]any{"Status": "not ready", "Upgrade": "<none>", "Applications": "<none>", "Active Cluster": "<none>"}, summary: "not ready, 0 endpoints",
		},
		"ready": {
			status:  rayv1.RayServiceStatuses{NumServeEndpoints: 2, Conditions: conditions("Ready"), ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: "a", Applications: running, TargetCapacity: new(int32(100))}},
			columns: map[string]any{"Status": "ready", "Endpoints": int64(2), "Upgrade": "<none>", "Applications": "shop=RUNNING", "Pending Applications": "<none>", "Reason": ""}, summary: "ready, 2 endpoints",
		},
		"an upgrade at once": {
			status: rayv1.RayServiceStatuses{
				Conditions: conditions("Ready", "UpgradeInProgress"), ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: "a", Applications: running},
				PendingServiceStatus: rayv1.RayServiceStatus{RayClusterName: "b", Applications: map[string]rayv1.AppStatus{"shop": {Status: "DEPLOYING"}}},
			},
			columns: map[string]any{"Status": "upgrading", "Upgrade": "preparing", "Pending Cluster": "b", "Applications": "shop=RUNNING", "Pending Applications": "shop=DEPLOYING"},
			summary: "upgrading, 0 endpoints, new cluster: preparing",
		},
		"an upgrade that is paused": {
			status:  rayv1.RayServiceStatuses{Conditions: conditions("Ready", "UpgradePaused"), ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: "a"}},
			columns: map[string]any{"Reason": "UpgradePausedReason"}, summary: "ready, 0 endpoints (UpgradePausedReason)",
		},
		"an upgrade in steps that is stalled": {
			status: rayv1.RayServiceStatuses{
				Conditions: conditions("Ready", "UpgradeInProgress", "Stalled"), ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: "a"},
				PendingServiceStatus: rayv1.RayServiceStatus{RayClusterName: "b", TargetCapacity: new(int32(50)), TrafficRoutedPercent: new(int32(25))},
			},
			columns: map[string]any{"Upgrade": "traffic 25%, capacity 50%", "Reason": "StalledReason"}, summary: "upgrading, 0 endpoints, new cluster: traffic 25%, capacity 50% (StalledReason)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := convert.RayService.Message(&rayv1.RayService{Status: tc.status})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range services.Columns {
				if want, asked := tc.columns[c.Name]; asked {
					if diff := cmp.Diff(want, c.Value(m)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", c.Name, diff)
					}
				}
			}
			if got := services.Summary(m); got != tc.summary {
				t.Errorf("summary %q, want %q", got, tc.summary)
			}
		})
	}
}
