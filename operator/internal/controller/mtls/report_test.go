package mtls

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/children"
)

// recorder collects events as "type reason action".
type recorder struct{ list []string }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(_, _ runtime.Object, kind, reason, action, _ string, _ ...any) {
	r.list = append(r.list, kind+" "+reason+" "+action)
}

func (r *recorder) after(n int) []string { return r.list[n:] }

// newReporter returns a reconciler that can report, and nothing else.
func newReporter(now time.Time) (*Reconciler, *recorder) {
	events := &recorder{}
	return New(Config{Recorder: events, Clock: clocktesting.NewFakePassiveClock(now)}), events
}

// issuedUntil are three certificates of which the first is that of the authority.
func issuedUntil(rc *rayv1.RayCluster, ready bool, ends ...time.Time) pki {
	p := pki{authority: cert.AuthorityCertificate(rc), head: cert.Head(rc, "", nil), worker: cert.Worker(rc, nil)}
	for i, c := range []*unstructured.Unstructured{p.authority, p.head, p.worker} {
		status := map[string]any{"notAfter": ends[i].UTC().Format(time.RFC3339)}
		if ready {
			status["conditions"] = []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": c.GetGeneration()}}
		}
		c.Object["status"] = status
	}
	return p
}

func TestReport(t *testing.T) {
	const day = 24 * time.Hour
	now := raytest.Epoch.Time
	rc := raytest.RayCluster("ns/demo")
	pod := func(age time.Duration, opts ...raytest.PodOption) corev1.Pod {
		return *raytest.HeadPod(rc, fmt.Sprintf("h-%s", age), append(opts, func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(now.Add(-age))
		})...)
	}
	issued := "Normal MTLSPKIReady Reconcile"
	cases := map[string]struct {
		notReady  bool
		ends      []time.Duration // from now: authority, head, workers
		pods      []corev1.Pod
		want      []string
		wantAgain time.Duration
	}{
		"cert-manager is at work":            {notReady: true, ends: []time.Duration{0, 0, 0}, want: []string{"Normal MTLSCertsNotReady Reconcile"}},
		"all is well":                        {ends: []time.Duration{3650 * day, 90 * day, 80 * day}, want: []string{issued}, wantAgain: 79 * day},
		"the workers' was not renewed":       {ends: []time.Duration{3650 * day, 90 * day, day}, want: []string{issued, "Warning MTLSCertificateExpiringSoon Reconcile"}, wantAgain: 89 * day},
		"none was renewed":                   {ends: []time.Duration{day, day, -day}, want: []string{issued, "Warning MTLSCertificateExpiringSoon Reconcile"}},
		"a young Pod":                        {ends: []time.Duration{3650 * day, 90 * day, 90 * day}, pods: []corev1.Pod{pod(30 * day), pod(10 * day)}, want: []string{issued}, wantAgain: 45 * day},
		"a Pod with an older certificate":    {ends: []time.Duration{3650 * day, 90 * day, 90 * day}, pods: []corev1.Pod{pod(10 * day), pod(75 * day)}, want: []string{issued, "Warning MTLSPodsNeedRestart Reconcile"}, wantAgain: 89 * day},
		"an old Pod that ends, or has ended": {ends: []time.Duration{3650 * day, 90 * day, 90 * day}, pods: []corev1.Pod{pod(80*day, raytest.Terminating()), pod(81*day, raytest.Phase(corev1.PodFailed))}, want: []string{issued}, wantAgain: 89 * day},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, recorder := newReporter(now)
			var ends []time.Time
			for _, d := range tc.ends {
				ends = append(ends, now.Add(d))
			}
			p := issuedUntil(rc, !tc.notReady, ends...)
			if got := r.report(rc, p, tc.pods).RequeueAfter; got != tc.wantAgain {
				t.Errorf("looks again after %s, want %s", got, tc.wantAgain)
			}
			if diff := cmp.Diff(tc.want, recorder.list); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if r.report(rc, p, tc.pods); len(recorder.after(len(tc.want))) > 0 {
				t.Errorf("reported again: %v", recorder.after(len(tc.want)))
			}
		})
	}
}

func TestWhatKeepsCertificatesFromBeingMade(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	const failed = "Warning MTLSFailedToReconcile Reconcile"
	cases := map[string]struct {
		result    children.Result
		want      []string
		wantErr   bool
		wantAfter time.Duration
	}{
		"somebody was faster":        {result: children.Result{After: time.Second}, wantAfter: time.Second},
		"somebody else has the name": {result: children.Result{Failure: &children.Failure{Message: "taken"}, After: time.Minute}, want: []string{failed}, wantAfter: time.Minute},
		"anything else":              {result: children.Result{Err: errors.New("no")}, want: []string{failed}, wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, recorder := newReporter(raytest.Epoch.Time)
			for range 2 { // the event is sent once
				result, err := r.unfinished(rc, tc.result)
				if (err != nil) != tc.wantErr || result.RequeueAfter != tc.wantAfter {
					t.Errorf("error %v, looks again after %s", err, result.RequeueAfter)
				}
			}
			if diff := cmp.Diff(tc.want, recorder.list); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSecretIsAdoptedAfterEachIssue: a Secret that was lost is made anew, without the owner.
func TestSecretIsAdoptedAfterEachIssue(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	secret := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: names.HeadTLSSecret(rc.Name)}}
	}
	issued := func(revision int64) *unstructured.Unstructured {
		c := cert.Head(rc, "", nil)
		c.SetUID("uid-of-certificate")
		c.Object["status"] = map[string]any{"notAfter": raytest.Epoch.UTC().Format(time.RFC3339), "revision": revision}
		return c
	}
	reads := 0
	c := fake.NewClientBuilder().WithObjects(secret()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	r := New(Config{Client: c, Live: c, Clock: clocktesting.NewFakePassiveClock(raytest.Epoch.Time)})
	owners := func() int {
		s := secret()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			t.Fatal(err)
		}
		return len(s.OwnerReferences)
	}
	adopt := func(revision int64) {
		t.Helper()
		if result := r.adoptSecret(t.Context(), issued(revision)); result.Err != nil || result.After != 0 {
			t.Fatal(result)
		}
	}
	adopt(1)
	if owners() != 1 {
		t.Error("the Secret has no owner")
	}
	if err := errors.Join(c.Delete(t.Context(), secret()), c.Create(t.Context(), secret())); err != nil {
		t.Fatal(err)
	}
	reads = 0
	if adopt(1); reads != 0 {
		t.Errorf("%d reads although it was adopted", reads)
	}
	if adopt(2); owners() != 1 {
		t.Error("the Secret that was made anew has no owner")
	}
}
