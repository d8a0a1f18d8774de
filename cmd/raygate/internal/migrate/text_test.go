package migrate

import (
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/internal/testing/golden"
)

// TestText shows what people read.
func TestText(t *testing.T) {
	r := newReport()
	r.CRDs = []CRD{{Name: "rayclusters.ray.io", Installed: true, Of: kubeRay, Served: []string{"v1", "v1alpha1"}, Stored: "v1", StoredVersions: []string{"v1alpha1", "v1"}}}
	r.add(Finding{Area: AreaCRDs, Severity: Warning, Kind: "CustomResourceDefinition", Name: "rayclusters.ray.io", Field: "status.storedVersions", Message: "objects may be stored as v1alpha1", Remedy: "see docs/webhooks.md"})
	o := Operator{Namespace: "ray", Name: "kuberay-operator", Image: "quay.io/kuberay/operator:v1.7.0", ServiceAccount: "kuberay-operator", Replicas: 1, gates: map[string]bool{}}
	s := &settings{report: r, operator: &o}
	for _, f := range []argument{{"qps", "100"}, {"forced-cluster-upgrade", "true"}, {"frobnicate", "true"}} {
		s.flag(f, false)
	}
	s.variable(corev1.EnvVar{Name: "ENABLE_LOGIN_SHELL", Value: "yes"})
	r.Operators = append(r.Operators, o)
	r.Objects = []Objects{{Kind: "RayCluster", Count: 12, Refused: 1}, {Kind: "RayJob"}}
	r.add(Finding{Area: AreaObjects, Severity: Error, Kind: "RayCluster", Namespace: "research", Name: "demo", Field: "spec.networkPolicy", Rule: "RC-097", Message: "needs a feature gate"})
	r.add(Finding{Area: AreaObjects, Severity: Warning, Kind: "RayCluster", Namespace: "research", Name: "demo", Field: "spec.rayVersion", Rule: "RC-599", Message: "is unusual", Remedy: "is unusual"})
	r.Rights = Rights{ServiceAccount: "ray/kuberay-operator", Checked: 90}
	r.addMissing(Missing{Group: "rbac.authorization.k8s.io", Resource: "roles", Verbs: []string{"patch"}, Namespace: "research", Role: "operator/config/rbac/role.yaml"})
	r.Back = []BackCount{{What: "annotation raygate.io/probes", Objects: 1, Effect: "ignored"}}
	var text, data bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden.Text(t, "testdata/report.txt", text.String())
	if err := r.WriteJSON(&data); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil || back.Errors != 4 || len(back.Findings) != len(r.Findings) {
		t.Errorf("%d errors, %d findings, %v", back.Errors, len(back.Findings), err)
	}
}
