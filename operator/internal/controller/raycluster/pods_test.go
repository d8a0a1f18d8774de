package raycluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

func TestNameHead(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.UID("one"))
	name := func(rc *rayv1.RayCluster, meta metav1.ObjectMeta) metav1.ObjectMeta {
		p := &corev1.Pod{ObjectMeta: meta}
		nameHead(p, rc)
		return p.ObjectMeta
	}
	generated := name(rc, metav1.ObjectMeta{GenerateName: "demo-head-"})
	if len(generated.Name) != len("demo-head-")+5 || generated.Name[:10] != "demo-head-" || generated.GenerateName != "" {
		t.Errorf("name %q and prefix %q, want a name of the form that the API server generates", generated.Name, generated.GenerateName)
	}
	if again := name(rc, metav1.ObjectMeta{GenerateName: "demo-head-"}); again.Name != generated.Name {
		t.Errorf("names %q and %q, want the same for one cluster", generated.Name, again.Name)
	}
	if other := name(raytest.RayCluster("ns/demo", raytest.UID("two")), metav1.ObjectMeta{GenerateName: "demo-head-"}); other.Name == generated.Name {
		t.Errorf("name %q for two clusters", other.Name)
	}
	if own := name(rc, metav1.ObjectMeta{Name: "mine", GenerateName: "demo-head-"}); own.Name != "mine" {
		t.Errorf("name %q, want that of the template", own.Name)
	}
}

func TestSteady(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	full := errors.New("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")
	cases := map[string]struct {
		err    error
		prefix string
		want   string
	}{
		"a generated name and what is used": {
			apierrors.NewForbidden(pods, "demo-worker-x7f2p", full), "demo-worker-",
			`pods "demo-worker-*" is forbidden: exceeded quota: q, requested: pods=1, limited: pods=3`,
		},
		"a fixed name": {apierrors.NewForbidden(pods, "demo-head-x7f2p", full), "",
			`pods "demo-head-x7f2p" is forbidden: exceeded quota: q, requested: pods=1, limited: pods=3`},
		"no name": {apierrors.NewForbidden(pods, "", errors.New("no right")), "", "pods is forbidden: no right"},
		"a name of something else": {apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, "demo"), "demo-worker-",
			`serviceaccounts "demo" not found`},
		"no answer of the API server": {errors.New("EOF"), "demo-worker-", "EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, steady(fmt.Errorf("%w", tc.err), tc.prefix)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for want, list := range map[bool][]error{
		true: {
			&net.OpError{Op: "dial", Err: errors.New("refused")}, context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF,
			apierrors.NewServerTimeout(pods, "create", 1), apierrors.NewTimeoutError("slow", 1), apierrors.NewTooManyRequests("busy", 1),
			apierrors.NewServiceUnavailable("starting"),
		},
		false: {
			apierrors.NewForbidden(pods, "p", errors.New("exceeded quota")), apierrors.NewInternalError(errors.New("webhook")),
			apierrors.NewAlreadyExists(pods, "p"), apierrors.NewBadRequest("no"),
		},
	} {
		for _, err := range list {
			if got := unreachable(fmt.Errorf("creating: %w", err)); got != want {
				t.Errorf("%v: want %t, got %t", err, want, got)
			}
		}
	}
}

func TestJoinFailures(t *testing.T) {
	if joinFailures(nil) != nil {
		t.Error("nothing failed")
	}
	workers := failure{reason: rayv1.ReasonFailedCreateWorkerPod, message: "b"}
	got := joinFailures([]failure{
		workers, {reason: rayv1.ReasonFailedDeleteWorkerPod, message: "d"}, {reason: rayv1.ReasonFailedCreateWorkerPod, message: "a"}, workers,
		{reason: rayv1.ReasonFailedCreateHeadPod, message: "z"},
	})
	want := &failure{reason: rayv1.ReasonFailedCreateHeadPod, message: "z; a; b; d"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(failure{})); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	got = joinFailures([]failure{{reason: rayv1.ReasonFailedCreateHeadPod, message: "a"}, {reason: rayv1.ReasonFailedCreateHeadService, message: "z"}})
	if got.reason != rayv1.ReasonFailedCreateHeadService || got.message != "z; a" {
		t.Errorf("failure %+v, want that of the Service first", got)
	}
}
