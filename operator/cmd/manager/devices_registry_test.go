package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	deviceload "github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// TestRegistryEvent: each change to a file that cannot be used gets one event of the operator's own Pod, and a good one gets none.
func TestRegistryEvent(t *testing.T) {
	p, err := deviceload.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	self := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "raygate-operator-0", UID: "u"}}
	const want = "Warning DeviceRegistryInvalid The last good registry of device families stays in use: vendors[0]: no name"
	for name, tc := range map[string]struct {
		pod  client.ObjectKey
		errs []error
		want []string
	}{
		"a bad file":             {pod: client.ObjectKeyFromObject(self), errs: []error{errors.New("vendors[0]: no name")}, want: []string{want}},
		"a good file":            {pod: client.ObjectKeyFromObject(self), errs: []error{nil}},
		"two bad files":          {pod: client.ObjectKeyFromObject(self), errs: []error{errors.New("vendors[0]: no name"), nil, errors.New("vendors[0]: no name")}, want: []string{want, want}},
		"a Pod of another name":  {pod: client.ObjectKey{Namespace: "system", Name: "node-7"}, errs: []error{errors.New("vendors[0]: no name")}},
		"outside of the cluster": {errs: []error{errors.New("vendors[0]: no name")}},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(10)
			r := &registryReports{live: deviceload.NewLive(p), metrics: deviceadmission.NewMetrics(), recorder: recorder, reader: fake.NewClientBuilder().WithObjects(self).Build(), pod: tc.pod}
			for _, err := range tc.errs {
				r.reloaded(t.Context(), err)
			}
			var got []string
			for len(recorder.Events) > 0 {
				got = append(got, <-recorder.Events)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
