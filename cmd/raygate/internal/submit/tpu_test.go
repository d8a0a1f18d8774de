package submit

import (
	"testing"
)

func TestTPU(t *testing.T) {
	tests := map[string]struct {
		chips, kind, topology string
		workers, hosts        int32
		want                  string // of the error
	}{
		"a slice of two hosts":  {chips: "4", kind: "tpu-v5-lite-podslice", topology: "2x4", workers: 3, hosts: 2},
		"a slice of one host":   {chips: "8", kind: "tpu-v5-lite-podslice", topology: "2x4", workers: 1, hosts: 0},
		"in three dimensions":   {chips: "4", kind: "tpu-v4-podslice", topology: "2x2x4", workers: 1, hosts: 4},
		"no topology":           {chips: "4", kind: "tpu-v4-podslice", workers: 1, want: "belong together"},
		"no type":               {chips: "4", topology: "2x4", workers: 1, want: "belong together"},
		"no chips":              {chips: "0", kind: "tpu-v4-podslice", topology: "2x4", workers: 1, want: "--worker-tpu"},
		"no workers":            {chips: "4", kind: "tpu-v4-podslice", topology: "2x4", want: "--workers"},
		"no form of a topology": {chips: "4", kind: "tpu-v4-podslice", topology: "8", workers: 1, want: `"8" is not a topology such as 2x4`},
		"a part of a host":      {chips: "8", kind: "tpu-v4-podslice", topology: "2x2x1", workers: 1, want: "the 4 chips of 2x2x1 are not a multiple of the 8"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Worker.TPU, o.TPUType, o.TPUTopology, o.Workers = tc.chips, tc.kind, tc.topology, tc.workers
			job := rayJob(t, &o, tc.want)
			if job == nil {
				return
			}
			group := job.Spec.RayClusterSpec.WorkerGroupSpecs[0]
			chips, selector := group.Template.Spec.Containers[0].Resources.Limits["google.com/tpu"], group.Template.Spec.NodeSelector
			if group.NumOfHosts != tc.hosts || *group.Replicas != tc.workers || chips.String() != tc.chips || selector["cloud.google.com/gke-tpu-topology"] != tc.topology || selector["cloud.google.com/gke-tpu-accelerator"] != tc.kind {
				t.Errorf("%d slices of %d hosts with %s chips on %v", *group.Replicas, group.NumOfHosts, chips.String(), selector)
			}
		})
	}
}
