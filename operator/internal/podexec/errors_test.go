package podexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
		"R7 a quota of device admission": {
			errors.New(`admission webhook "devices-check.pod.ray.io" denied the request: exceeded quota: quota "q": nvidia.com/gpumem requested 4096 MiB (container ray-worker: 4096), in use 6144 MiB (2 running, 1 pending), hard 8192 MiB, exceeds by 2048 MiB` +
				"\n" + `quota "r": nvidia.com/gpu requested 1 (container ray-worker: 1), in use 2 (1 pending, 1 reserved), hard 2, exceeds by 1`), "demo-worker-",
			`admission webhook "devices-check.pod.ray.io" denied the request: exceeded quota: quota "q": nvidia.com/gpumem requested 4096 MiB (container ray-worker: 4096), hard 8192 MiB` +
				"\n" + `quota "r": nvidia.com/gpu requested 1 (container ray-worker: 1), hard 2`,
		},
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
