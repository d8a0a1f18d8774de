package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/pkg/validation"
)

type mux map[string]http.Handler

func (m mux) Register(path string, hook http.Handler) { m[path] = hook }

func registered(t testing.TB) (mux, *Metrics) {
	t.Helper()
	m, metrics := mux{}, NewMetrics()
	Register(m.Register, validation.Options{}, StageEnforce, metrics, nil)
	return m, metrics
}

// review sends one AdmissionReview through HTTP, as the API server does.
func review(t testing.TB, h http.Handler, req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("status %d, body %q: %v", w.Code, w.Body, err)
	}
	if w.Code != http.StatusOK || out.APIVersion != "admission.k8s.io/v1" || out.Kind != "AdmissionReview" || out.Response == nil {
		t.Fatalf("status %d, answer %s", w.Code, w.Body)
	}
	if out.Response.UID != req.UID {
		t.Errorf("uid %q, want %q", out.Response.UID, req.UID)
	}
	return out.Response
}

func raw(t testing.TB, text string) runtime.RawExtension {
	t.Helper()
	if text == "" {
		return runtime.RawExtension{}
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

func request(t testing.TB, kind, after, before string) *admissionv1.AdmissionRequest {
	t.Helper()
	req := &admissionv1.AdmissionRequest{
		UID: "the-uid", Kind: metav1.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: kind}, Name: "demo", Namespace: "ns",
		RequestKind: &metav1.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: kind},
		Operation:   admissionv1.Create, Object: raw(t, after), OldObject: raw(t, before),
	}
	if before != "" {
		req.Operation = admissionv1.Update
	}
	return req
}

const valid = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: ns}
spec:
  rayVersion: 2.52.0
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray, image: rayproject/ray:2.52.0, resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}}]}}}
  workerGroupSpecs: [{groupName: a, replicas: 1, minReplicas: 0, maxReplicas: 2, numOfHosts: 1, priority: 0, template: {spec: {containers: [{name: ray, image: rayproject/ray:2.52.0, resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}}]}}}]
`

func edit(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

func TestValidate(t *testing.T) {
	invalid := edit(valid, "minReplicas: 0", "minReplicas: 5")
	cases := map[string]struct {
		kind, after, before string
		wantAllowed         bool
		wantFields          []string // of the causes
		wantRule            string   // in the message of the first cause
		wantOutcome         string
	}{
		"valid":                              {after: valid, wantAllowed: true, wantOutcome: "allowed"},
		"several errors at once":             {after: edit(invalid, "groupName: a", "groupName: A_b"), wantFields: []string{"spec.workerGroupSpecs[0].groupName", "spec.workerGroupSpecs[0].minReplicas"}, wantRule: "(RC-", wantOutcome: "denied"},
		"an error that was there":            {after: edit(invalid, "rayVersion: 2.52.0", "rayVersion: 2.53.0"), before: invalid, wantAllowed: true, wantOutcome: "allowed"},
		"an error that is new":               {after: invalid, before: valid, wantFields: []string{"spec.workerGroupSpecs[0].minReplicas"}, wantOutcome: "denied"},
		"an error that got worse":            {after: edit(invalid, "minReplicas: 5", "minReplicas: 6"), before: invalid, wantFields: []string{"spec.workerGroupSpecs[0].minReplicas"}, wantOutcome: "denied"},
		"being deleted":                      {after: edit(invalid, "namespace: ns", "namespace: ns, deletionTimestamp: '2024-01-01T00:00:00Z'"), before: valid, wantAllowed: true, wantOutcome: "skipped"},
		"finalizers alone":                   {after: edit(invalid, "namespace: ns", "namespace: ns, finalizers: [a]"), before: invalid, wantAllowed: true, wantOutcome: "allowed"},
		"no spec":                            {after: "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: demo}}", wantFields: []string{"spec"}, wantRule: "(RC-581)", wantOutcome: "denied"},
		"unreadable":                         {after: edit(valid, "cpu: 1", "cpu: [1]"), wantFields: []string{""}, wantOutcome: "denied"},
		"a job with a wrong cluster":         {kind: "RayJob", after: "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: demo}, spec: {entrypoint: a, rayClusterSpec: {headGroupSpec: {template: {}}}}}", wantFields: []string{"spec.rayClusterSpec.headGroupSpec.template.spec.containers"}, wantOutcome: "denied"},
		"a service without a cluster":        {kind: "RayService", after: "{apiVersion: ray.io/v1, kind: RayService, metadata: {name: demo}, spec: {}}", wantFields: []string{"spec"}, wantRule: "(RS-581)", wantOutcome: "denied"},
		"a stored service without a cluster": {kind: "RayService", after: "{apiVersion: ray.io/v1, kind: RayService, metadata: {name: demo, labels: {a: b}}, spec: {}}", before: "{apiVersion: ray.io/v1, kind: RayService, metadata: {name: demo}, spec: {}}", wantAllowed: true, wantOutcome: "allowed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, metrics := registered(t)
			if tc.kind == "" {
				tc.kind = "RayCluster"
			}
			req := request(t, tc.kind, tc.after, tc.before)
			got := review(t, hooks[ValidatePath(tc.kind)], req)
			if got.Allowed != tc.wantAllowed {
				t.Fatalf("allowed %t, want %t: %+v", got.Allowed, tc.wantAllowed, got.Result)
			}
			if n := testutil.ToFloat64(metrics.requests.WithLabelValues("validate", tc.kind, string(req.Operation), tc.wantOutcome)); n != 1 {
				t.Errorf("outcome %s counted %v times, want once", tc.wantOutcome, n)
			}
			if got.Allowed {
				return
			}
			if got.Result.Code != http.StatusUnprocessableEntity || got.Result.Reason != metav1.StatusReasonInvalid || got.Result.Details.Kind != tc.kind || got.Result.Details.Name != "demo" {
				t.Errorf("status %+v", got.Result)
			}
			var fields []string
			for _, c := range got.Result.Details.Causes {
				fields = append(fields, c.Field)
				if c.Message == "" || c.Type == "" || !strings.Contains(got.Result.Message, c.Message) {
					t.Errorf("cause %+v does not stand in the message %q", c, got.Result.Message)
				}
			}
			for _, want := range tc.wantFields {
				if !slices.Contains(fields, want) {
					t.Errorf("causes at %q, want one at %q", fields, want)
				}
			}
			if !strings.Contains(got.Result.Details.Causes[0].Message, tc.wantRule) {
				t.Errorf("first cause %q, want the rule %s", got.Result.Details.Causes[0].Message, tc.wantRule)
			}
		})
	}
}

// The stage changes what becomes of a refusal, and nothing of what is let through.
func TestStages(t *testing.T) {
	invalid := edit(valid, "groupName: a", "groupName: a_b")
	cases := map[string]struct {
		stage       Stage
		obj         string
		wantAllowed bool
		wantWarning string // part of the text; empty for no warning
		wantOutcome string
	}{
		"enforce": {stage: StageEnforce, obj: invalid, wantOutcome: "denied"},
		"warn":    {stage: StageWarn, obj: invalid, wantAllowed: true, wantWarning: "spec.workerGroupSpecs[0].groupName: ", wantOutcome: "tolerated"},
		"audit":   {stage: StageAudit, obj: invalid, wantAllowed: true, wantOutcome: "tolerated"},
		"valid":   {stage: StageWarn, obj: valid, wantAllowed: true, wantOutcome: "allowed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, metrics := mux{}, NewMetrics()
			Register(hooks.Register, validation.Options{}, tc.stage, metrics, nil)
			got := review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", tc.obj, ""))
			if got.Allowed != tc.wantAllowed {
				t.Errorf("allowed %t", got.Allowed)
			}
			if warned := strings.Join(got.Warnings, "\n"); !strings.Contains(warned, tc.wantWarning) || warned != "" && tc.wantWarning == "" {
				t.Errorf("warnings %q, want %q", warned, tc.wantWarning)
			}
			tolerated := tc.wantOutcome == "tolerated"
			if text := got.AuditAnnotations[auditKey]; tolerated != strings.Contains(text, "groupName") {
				t.Errorf("audit annotation %q", text)
			}
			if n := testutil.ToFloat64(metrics.requests.WithLabelValues("validate", "RayCluster", "CREATE", tc.wantOutcome)); n != 1 {
				t.Errorf("outcome %s counted %v times", tc.wantOutcome, n)
			}
			if refusals := testutil.CollectAndCount(metrics.refusals); (refusals > 0) != (tc.obj == invalid) {
				t.Errorf("%d series of broken rules", refusals)
			}
		})
	}
}

// TestWarningsAboutTheRequest are about who wrote, when, and in which version of the API.
func TestWarningsAboutTheRequest(t *testing.T) {
	owned := edit(valid, "namespace: ns", "namespace: ns, ownerReferences: [{apiVersion: ray.io/v1, kind: RayService, name: shop, uid: u, controller: true}]")
	labelled := edit(valid, "groupName: a,", "groupName: a, labels: {zone: a},")
	cron := "{apiVersion: ray.io/v1, kind: RayCronJob, metadata: {name: demo, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {schedule: '0 * * * *', timeZone: UTC, jobTemplate: {entrypoint: a, clusterSelector: {ray.io/cluster: a}}}}"
	cases := map[string]struct {
		kind, after, before, user, version string
		want                               bool
		rule                               string
	}{
		"a person edits what a service owns":    {after: edit(owned, "replicas: 1, ", ""), before: edit(owned, "minReplicas: 0", "minReplicas: 1"), user: "jane", want: true, rule: "(X-503)"},
		"GitOps edits what a service owns":      {after: edit(owned, "replicas: 1, ", ""), before: edit(owned, "minReplicas: 0", "minReplicas: 1"), user: "system:serviceaccount:argocd:application-controller", want: true, rule: "(X-503)"},
		"an old client drops a field":           {after: valid, before: labelled, user: "jane", version: "v1alpha1", want: true, rule: "(X-501)"},
		"a new client drops a field":            {after: valid, before: labelled, user: "jane", version: "v1", rule: "(X-501)"},
		"a schedule changes while a run is due": {kind: "RayCronJob", after: edit(cron, "0 * * * *", "5 * * * *"), before: cron, user: "jane", want: true, rule: "(CJ-509)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, _ := registered(t)
			if tc.kind == "" {
				tc.kind = "RayCluster"
			}
			req := request(t, tc.kind, tc.after, tc.before)
			req.UserInfo.Username = tc.user
			if tc.version != "" {
				req.RequestKind.Version = tc.version
			}
			got := review(t, hooks[ValidatePath(tc.kind)], req)
			if !got.Allowed {
				t.Fatalf("refused: %+v", got.Result)
			}
			if told := slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, tc.rule) }); told != tc.want {
				t.Errorf("warning %s: %t, want %t: %q", tc.rule, told, tc.want, got.Warnings)
			}
		})
	}
}

// A verdict must not tell a secret, neither in the error nor in a warning.
func TestNoSecretInTheAnswer(t *testing.T) {
	hooks, _ := registered(t)
	after := edit(valid, "rayVersion: 2.52.0", "gcsFaultToleranceOptions: {redisAddress: 'a:1', redisPassword: {value: hunter2, valueFrom: {secretKeyRef: {name: s, key: k}}}}\n  managedBy: hunter")
	body, err := json.Marshal(review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", after, "")))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(body, []byte("hunter2")) {
		t.Errorf("the answer tells the password: %s", body)
	}
}

// TestCausesSayTheKindOfProblem, those of decoders and schemas included, whose text does not say it.
func TestCausesSayTheKindOfProblem(t *testing.T) {
	errs := field.ErrorList{field.Required(field.NewPath("a"), "no"), field.TypeInvalid(field.NewPath("b"), 1, "must be of type string")}
	got := deny(kind{validation.AllChecks()[0]}, admission.Request{}, errs, nil).response.Result.Details.Causes
	if len(got) != 2 || got[0].Type != metav1.CauseTypeFieldValueRequired || got[1].Type != metav1.CauseTypeTypeInvalid {
		t.Errorf("causes %+v", got)
	}
}

func TestWarningsAreFewAndShort(t *testing.T) {
	var list field.ErrorList
	for i := range 30 {
		list = append(list, field.Invalid(field.NewPath("spec").Index(i), i, strings.Repeat("größe ", 60)).WithOrigin("RC-999"))
	}
	got := warningTexts(list)
	if len(got) != conditions.MaxWarnings || !strings.Contains(got[conditions.MaxWarnings-1], "21 more") {
		t.Errorf("%d warnings, the last %q", len(got), got[len(got)-1])
	}
	total := 0
	for _, w := range got {
		total += len(w)
		if len(w) > conditions.MaxWarning {
			t.Errorf("warning of %d bytes: %q", len(w), w)
		}
	}
	if total > 4096 {
		t.Errorf("%d bytes of warnings; the API server cuts at 4096", total)
	}
	if !strings.HasSuffix(got[0], "... (RC-999)") {
		t.Errorf("warning %q, want the rule at its end", got[0])
	}
	if got := warningTexts(nil); got != nil {
		t.Errorf("warnings %v, want none", got)
	}
}

func patched(t *testing.T, obj runtime.RawExtension, response *admissionv1.AdmissionResponse) []byte {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("denied: %+v", response.Result)
	}
	if response.Patch == nil {
		return obj.Raw
	}
	if response.PatchType == nil || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Errorf("patch type %v", response.PatchType)
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(obj.Raw)
	if err != nil {
		t.Fatalf("applying %s: %v", response.Patch, err)
	}
	return out
}

func TestMutate(t *testing.T) {
	bare := edit(valid, ", numOfHosts: 1, priority: 0", "")
	cases := map[string]struct {
		kind, after, before string
		oldClient           bool
		want                string
		wantWarning         string
	}{
		"nothing to do":               {after: valid, want: valid},
		"defaults of fields of v1":    {after: bare, want: valid},
		"an explicit zero stays":      {after: edit(valid, "numOfHosts: 1", "numOfHosts: 0"), want: edit(valid, "numOfHosts: 1", "numOfHosts: 0")},
		"unknown fields stay":         {after: edit(bare, "rayVersion:", "future: {a: 1}\n  rayVersion:"), want: edit(valid, "rayVersion:", "future: {a: 1}\n  rayVersion:")},
		"quantities stay as they are": {after: edit(bare, "cpu: 1", "cpu: 1000m"), want: edit(valid, "cpu: 1", "cpu: 1000m")},
		"being deleted":               {after: edit(bare, "namespace: ns", "namespace: ns, deletionTimestamp: '2024-01-01T00:00:00Z'"), before: valid, oldClient: true, want: edit(bare, "namespace: ns", "namespace: ns, deletionTimestamp: '2024-01-01T00:00:00Z'")},
		"an old client that lost the stash": {after: bare, before: edit(valid, "rayVersion:", "managedBy: ray.io/kuberay-operator\n  rayVersion:", "numOfHosts: 1", "numOfHosts: 4"), oldClient: true,
			want: edit(valid, "rayVersion:", "managedBy: ray.io/kuberay-operator\n  rayVersion:", "numOfHosts: 1", "numOfHosts: 4"), wantWarning: "spec.managedBy"},
		"an old client that lost the stash, and a webhook before ours": {after: valid, before: edit(valid, "numOfHosts: 1, priority: 0", "numOfHosts: 4, priority: 7"), oldClient: true,
			want: edit(valid, "numOfHosts: 1, priority: 0", "numOfHosts: 4, priority: 7"), wantWarning: "numOfHosts"},
		"a client of v1 may set a default":        {after: valid, before: edit(valid, "numOfHosts: 1", "numOfHosts: 4"), want: valid},
		"a client of v1 may remove what it likes": {after: bare, before: edit(valid, "rayVersion:", "managedBy: ray.io/kuberay-operator\n  rayVersion:"), want: valid},
		"a job": {kind: "RayJob", after: "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: demo}, spec: {entrypoint: a, clusterSelector: {ray.io/cluster: b}}}",
			want: "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: demo}, spec: {entrypoint: a, clusterSelector: {ray.io/cluster: b}, submissionMode: K8sJobMode, backoffLimit: 0}}"},
		"no spec":    {after: "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: demo}}", want: "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: demo}}"},
		"unreadable": {after: "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: demo}, spec: 7}", want: "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: demo}, spec: 7}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, _ := registered(t)
			if tc.kind == "" {
				tc.kind = "RayCluster"
			}
			req := request(t, tc.kind, tc.after, tc.before)
			if tc.oldClient {
				req.RequestKind.Version = "v1alpha1"
			}
			response := review(t, hooks[MutatePath(tc.kind)], req)
			got := patched(t, req.Object, response)
			var gotObj, wantObj any
			if err := json.Unmarshal(got, &gotObj); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(tc.want), &wantObj); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantObj, gotObj); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if warned := strings.Join(response.Warnings, "\n"); !strings.Contains(warned, tc.wantWarning) || warned != "" && tc.wantWarning == "" {
				t.Errorf("warnings %q, want %q", warned, tc.wantWarning)
			}
			again := request(t, tc.kind, string(got), tc.before)
			again.RequestKind = req.RequestKind
			if second := review(t, hooks[MutatePath(tc.kind)], again); second.Patch != nil || len(second.Warnings) > 0 {
				t.Errorf("the second run is not empty: %s %v", second.Patch, second.Warnings)
			}
		})
	}
}

// An internal error must not block writes of objects, and a misdirected request must return an error.
func TestWebhookThatCannotAnswer(t *testing.T) {
	metrics := NewMetrics()
	faulty := &admission.Webhook{Handler: &handler{kind: kind{validation.AllChecks()[0]}, name: "validate", metrics: metrics, handle: func(context.Context, admission.Request) answer { panic("boom") }}}
	got := review(t, faulty, request(t, "RayCluster", valid, ""))
	if !got.Allowed || len(got.Warnings) != 1 || strings.Contains(got.Warnings[0], "boom") {
		t.Errorf("a panic answers %+v, want the object to pass with a warning", got)
	}
	if n := testutil.ToFloat64(metrics.requests.WithLabelValues("validate", "RayCluster", "CREATE", "failed")); n != 1 {
		t.Errorf("failures counted %v, want 1", n)
	}

	hooks, _ := registered(t)
	got = review(t, hooks[ValidatePath("RayJob")], request(t, "RayCluster", valid, ""))
	if got.Allowed || got.Result.Code != http.StatusBadRequest || !strings.Contains(got.Result.Message, "this webhook is for RayJob") {
		t.Errorf("a cluster sent to the webhook of jobs: %+v", got)
	}
	for _, op := range []admissionv1.Operation{admissionv1.Delete, admissionv1.Connect} {
		req := request(t, "RayCluster", "", "")
		req.Operation = op
		if got := review(t, hooks[ValidatePath("RayCluster")], req); !got.Allowed {
			t.Errorf("%s is denied: %+v", op, got.Result)
		}
	}
	status := request(t, "RayCluster", edit(valid, "minReplicas: 0", "minReplicas: 5"), valid)
	status.SubResource = "status"
	if got := review(t, hooks[ValidatePath("RayCluster")], status); !got.Allowed {
		t.Errorf("a status write is denied: %+v", got.Result)
	}
}

// Every served kind has its webhooks at KubeRay's paths. RayCronJob has no old version whose writes lack something.
func TestPaths(t *testing.T) {
	hooks, _ := registered(t)
	want := []string{
		"/convert", "/mutate-ray-io-v1-raycluster", "/mutate-ray-io-v1-rayjob", "/mutate-ray-io-v1-rayservice",
		"/validate-ray-io-v1-raycluster", "/validate-ray-io-v1-raycronjob", "/validate-ray-io-v1-rayjob", "/validate-ray-io-v1-rayservice",
	}
	var got []string
	for path := range hooks {
		got = append(got, path)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// The samples are what users copy; they pass, and nothing needs to be filled in that the schema fills.
func TestSamplesPass(t *testing.T) {
	hooks, _ := registered(t)
	for _, file := range []string{"raycluster.minimal.yaml", "raycluster.complete.yaml"} {
		data, err := os.ReadFile("../../../samples/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if got := review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", string(data), "")); !got.Allowed {
			t.Errorf("%s is denied: %s", file, got.Result.Message)
		}
	}
}

// FuzzAdmission sends any object to both webhooks of any kind. They must answer, not panic, and a patch must apply.
func FuzzAdmission(f *testing.F) {
	for _, seed := range []string{valid, edit(valid, ", numOfHosts: 1", ""), "{spec: {jobTemplate: {}}}", "{spec: {workerGroupSpecs: [null]}, status: 1}"} {
		data, err := yaml.YAMLToJSON([]byte(seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(0), data, data)
		f.Add(uint8(1), data, []byte("{}"))
	}
	hooks, metrics := mux{}, NewMetrics()
	Register(hooks.Register, validation.Options{}, StageEnforce, metrics, nil)
	f.Fuzz(func(t *testing.T, n uint8, after, before []byte) {
		if !json.Valid(after) || !json.Valid(before) || len(after) == 0 || after[0] != '{' || before[0] != '{' {
			t.Skip()
		}
		name := validation.AllChecks()[int(n)%len(validation.AllChecks())].Kind
		req := request(t, name, "", "")
		req.Object.Raw, req.OldObject.Raw, req.Operation = after, before, admissionv1.Update
		req.RequestKind.Version = "v1alpha1"
		review(t, hooks[ValidatePath(name)], req)
		if hooks[MutatePath(name)] == nil {
			return
		}
		got := review(t, hooks[MutatePath(name)], req)
		if got.Patch == nil {
			return
		}
		patch, err := jsonpatch.DecodePatch(got.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patch.Apply(after); err != nil {
			t.Fatalf("patch %s does not apply to %s: %v", got.Patch, after, err)
		}
		for _, webhook := range []string{"validate", "mutate"} {
			if testutil.ToFloat64(metrics.requests.WithLabelValues(webhook, name, "UPDATE", "failed")) > 0 {
				t.Fatalf("%s of %s panicked on %s", webhook, name, after)
			}
		}
	})
}
