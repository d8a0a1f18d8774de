package deviceadmission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// mux is a server of the webhooks without a network.
type mux map[string]http.Handler

func (m mux) Register(path string, h http.Handler) { m[path] = h }

// quotaFunc is a quota that is always ready.
type quotaFunc func() (devicequota.Verdict, error)

func (quotaFunc) Ready() bool { return true }
func (f quotaFunc) Check(context.Context, *plan.Program, *corev1.Pod, *plan.Demand, bool) (devicequota.Verdict, error) {
	return f()
}

func shippedRegistry(t testing.TB) *load.Live {
	t.Helper()
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	return load.NewLive(p)
}

func serve(t testing.TB, registry devicequota.Registry, quota deviceadmission.Quota) (mux, *deviceadmission.Metrics) {
	t.Helper()
	m, metrics := mux{}, deviceadmission.NewMetrics()
	deviceadmission.Register(m.Register, registry, quota, metrics)
	return m, metrics
}

func review(t testing.TB, object string, edit func(*admissionv1.AdmissionReview)) []byte {
	t.Helper()
	r := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{UID: "abc", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Operation: admissionv1.Create,
			Namespace: "ns", Object: runtime.RawExtension{Raw: []byte(object)}},
	}
	if edit != nil {
		edit(r)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func ask(t testing.TB, h http.Handler, body []byte) (*httptest.ResponseRecorder, *admissionv1.AdmissionResponse) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	var out admissionv1.AdmissionReview
	if json.Unmarshal(rec.Body.Bytes(), &out) != nil {
		return rec, nil
	}
	return rec, out.Response
}

const gpuPod = `{"metadata":{"name":"p","generateName":"p-"},"spec":{"invented":{"a":1},"containers":[{"name":"ray","invented":true,"resources":{"invented":[1],"limits":{"nvidia.com/gpumem":"3k"},"requests":{"nvidia.com/gpumem":"3k"}}}]}}`

// TestPatch: nothing is removed, fields that nobody knows stay, and a Pod that needs nothing gets no patch.
func TestPatch(t *testing.T) {
	m, metrics := serve(t, shippedRegistry(t), nil)
	_, response := ask(t, m[deviceadmission.MutatePath], review(t, gpuPod, nil))
	if response == nil || !response.Allowed || response.UID != "abc" || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("response %+v", response)
	}
	var ops []plan.Operation
	if err := json.Unmarshal(response.Patch, &ops); err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if op.Op != "add" || strings.Contains(op.Path, "invented") {
			t.Errorf("operation %+v", op)
		}
	}
	if len(ops) != 3 { // limit, request, scheduler
		t.Errorf("operations %+v", ops)
	}
	if keys := slices.Sorted(maps.Keys(response.AuditAnnotations)); fmt.Sprint(keys) != "[decision registry vendors]" || response.AuditAnnotations["vendors"] != "nvidia" {
		t.Errorf("audit annotations %v", response.AuditAnnotations)
	}
	for name, object := range map[string]string{"no device": `{"spec":{"containers":[{"name":"a"}]}}`, "no containers": `{"spec":{}}`, "nothing": `{}`} {
		if _, r := ask(t, m[deviceadmission.MutatePath], review(t, object, nil)); r == nil || !r.Allowed || r.Patch != nil || r.Warnings != nil || r.AuditAnnotations != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	const want = `
# HELP device_webhook_requests_total Pods that the webhooks (mutate, validate) answered, by outcome (nothing, patched, allowed, denied, failed), reason, and device family.
# TYPE device_webhook_requests_total counter
device_webhook_requests_total{outcome="nothing",reason="",vendor="",webhook="mutate"} 3
device_webhook_requests_total{outcome="patched",reason="",vendor="nvidia",webhook="mutate"} 1
`
	if err := testutil.CollectAndCompare(metrics.Collectors()[0], strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestReviews: what is no review, or about something else.
func TestReviews(t *testing.T) {
	m, _ := serve(t, shippedRegistry(t), nil)
	for _, path := range []string{deviceadmission.MutatePath, deviceadmission.ValidatePath} {
		h := m[path]
		for name, body := range map[string][]byte{
			"no JSON":         []byte("{"),
			"empty":           nil,
			"another kind":    []byte(`{"apiVersion":"v1","kind":"Pod"}`),
			"another version": bytes.Replace(review(t, gpuPod, nil), []byte("admission.k8s.io/v1"), []byte("admission.k8s.io/v7"), 1),
		} {
			if rec, r := ask(t, h, body); rec.Code != http.StatusBadRequest || r != nil {
				t.Errorf("%s %s: HTTP %d, %+v", path, name, rec.Code, r)
			}
		}
		for name, body := range map[string][]byte{
			"a Pod that is none":  review(t, `{"spec":{"containers":"none"}}`, nil),
			"limits that are not": review(t, `{"spec":{"containers":[{"resources":{"limits":[]}}]}}`, nil),
		} {
			rec, r := ask(t, h, body)
			if r == nil || r.Allowed || r.Result.Code != http.StatusBadRequest || rec.Code != http.StatusOK {
				t.Errorf("%s %s: HTTP %d, %+v", path, name, rec.Code, r)
			}
		}
		for uid := range 3 {
			_, r := ask(t, h, review(t, gpuPod, func(a *admissionv1.AdmissionReview) { a.Request.UID = types.UID(fmt.Sprint(uid)) }))
			if r == nil || string(r.UID) != fmt.Sprint(uid) {
				t.Errorf("uid %d: %+v", uid, r)
			}
		}
		for name, edit := range map[string]func(*admissionv1.AdmissionReview){
			"update":      func(a *admissionv1.AdmissionReview) { a.Request.Operation = admissionv1.Update },
			"subresource": func(a *admissionv1.AdmissionReview) { a.Request.SubResource = "status" },
			"other kind":  func(a *admissionv1.AdmissionReview) { a.Request.Kind.Kind = "Node" },
		} {
			if _, r := ask(t, h, review(t, gpuPod, edit)); r == nil || !r.Allowed || r.Patch != nil {
				t.Errorf("%s %s: %+v", path, name, r)
			}
		}
	}
}

// faulty panics.
type faulty struct{}

func (faulty) Program() *plan.Program { panic("a fault of ours") }

// TestPanicIsAFailedCall: a well-formed answer would be final, whatever the failure policy.
func TestPanicIsAFailedCall(t *testing.T) {
	m, metrics := serve(t, faulty{}, nil)
	rec, r := ask(t, m[deviceadmission.MutatePath], review(t, gpuPod, nil))
	if rec.Code != http.StatusInternalServerError || r != nil || strings.Contains(rec.Body.String(), "fault") || !strings.Contains(rec.Body.String(), "correlation id") {
		t.Errorf("HTTP %d %s", rec.Code, rec.Body)
	}
	if n := testutil.ToFloat64(metrics.Collectors()[3]); n != 1 {
		t.Errorf("%v panics are counted, want 1", n)
	}
}

// TestNoVerdictIsAFailedCall: neither is there an answer without a ledger.
func TestNoVerdictIsAFailedCall(t *testing.T) {
	m, metrics := serve(t, shippedRegistry(t), quotaFunc(func() (devicequota.Verdict, error) { return devicequota.Verdict{}, errors.New("out of reach") }))
	rec, r := ask(t, m[deviceadmission.ValidatePath], review(t, gpuPod, nil))
	if rec.Code != http.StatusServiceUnavailable || r != nil || !strings.Contains(rec.Body.String(), "out of reach") {
		t.Errorf("HTTP %d %s", rec.Code, rec.Body)
	}
	const want = `
# HELP device_webhook_requests_total Pods that the webhooks (mutate, validate) answered, by outcome (nothing, patched, allowed, denied, failed), reason, and device family.
# TYPE device_webhook_requests_total counter
device_webhook_requests_total{outcome="failed",reason="unavailable",vendor="",webhook="validate"} 1
`
	if err := testutil.CollectAndCompare(metrics.Collectors()[0], strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestRefusals: all problems at once, with the code of the worst.
func TestRefusals(t *testing.T) {
	m, _ := serve(t, shippedRegistry(t), quotaFunc(func() (devicequota.Verdict, error) {
		return devicequota.Verdict{Exceeded: []string{"one", "two"}, Resources: []string{"a", "a"}}, nil
	}))
	bad := `{"spec":{"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpumem":"8Gi","amd.com/gpu":"1m"}}},{"name":"b","resources":{"limits":{"nvidia.com/gpucores":"101"}}}]}}`
	_, r := ask(t, m[deviceadmission.MutatePath], review(t, bad, nil))
	if r.Result.Code != http.StatusUnprocessableEntity || r.Result.Reason != metav1.StatusReasonInvalid || strings.Count(r.Result.Message, "\n") != 2 {
		t.Errorf("result %+v", r.Result)
	}
	_, r = ask(t, m[deviceadmission.ValidatePath], review(t, gpuPod, nil))
	if r.Result.Code != http.StatusForbidden || r.Result.Reason != metav1.StatusReasonForbidden || r.Result.Message != "exceeded quota: one\ntwo" {
		t.Errorf("result %+v", r.Result)
	}
}

// TestOptOutPolicy: a registry may permit the label that leaves Pods as they are in some namespaces only. By default it is permitted in all.
func TestOptOutPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		defaults, label, resource string
		refused                   bool
	}{
		"by default":            {"{}", "ignore", "a.io/x", false},
		"skipped":               {"{optOut: {policy: Skip}}", "ignore", "a.io/x", false},
		"denied":                {"{optOut: {policy: Deny, namespaces: [other]}}", "ignore", "a.io/x", true},
		"denied, but not here":  {"{optOut: {policy: Deny, namespaces: [other, ns]}}", "ignore", "a.io/x", false},
		"denied, no device":     {"{optOut: {policy: Deny}}", "ignore", "b.io/x", false},
		"denied, another value": {"{optOut: {policy: Deny}}", "on", "a.io/x", false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := load.Registry([]byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\ndefaults: " + tc.defaults + "\nvendors:\n- {name: a, resources: {count: a.io/x}}\n"))
			if err != nil {
				t.Fatal(err)
			}
			m, _ := serve(t, load.NewLive(p), nil)
			object := fmt.Sprintf(`{"metadata":{"name":"p","labels":{"devices.ray.io/webhook":%q}},"spec":{"containers":[{"name":"ray","resources":{"limits":{%q:"1"},"requests":{%q:"1"}}}]}}`, tc.label, tc.resource, tc.resource)
			_, r := ask(t, m[deviceadmission.ValidatePath], review(t, object, nil))
			if r == nil || r.Allowed == tc.refused {
				t.Fatalf("response %+v", r)
			}
			if tc.refused && (r.Result.Code != http.StatusForbidden || r.Result.Reason != metav1.StatusReasonForbidden ||
				!strings.Contains(r.Result.Message, "metadata.labels[devices.ray.io/webhook]") || !strings.Contains(r.Result.Message, "defaults.optOut")) {
				t.Errorf("result %+v", r.Result)
			}
		})
	}
	if _, err := load.Registry([]byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\ndefaults: {optOut: {namespaces: [a]}}\nvendors:\n- {name: a, resources: {count: a.io/x}}\n")); err == nil || !strings.Contains(err.Error(), "defaults.optOut.namespaces") {
		t.Errorf("namespaces without a policy: %v", err)
	}
}

// TestManyProblems: a Pod of thousands of containers with mistakes gets an answer, and makes a line in the log, of some kilobytes.
func TestManyProblems(t *testing.T) {
	var containers []string
	for i := range 5000 {
		containers = append(containers, fmt.Sprintf(`{"name":"c%d","resources":{"limits":{"nvidia.com/gpumem":"8Gi"}}}`, i))
	}
	m, _ := serve(t, shippedRegistry(t), nil)
	for path := range m {
		_, r := ask(t, m[path], review(t, `{"spec":{"containers":[`+strings.Join(containers, ",")+`]}}`, nil))
		if r == nil || r.Allowed || r.Result.Code != http.StatusUnprocessableEntity || len(r.Result.Message) > 16<<10 || !strings.Contains(r.Result.Message, "write 8192") {
			t.Fatalf("%s: %d bytes", path, len(fmt.Sprint(r)))
		}
	}
}
