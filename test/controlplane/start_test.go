package controlplane_test

import (
	"testing"

	"github.com/raygate/raygate/test/controlplane"
)

// BenchmarkStart measures how long tests wait for a control plane, by the CRDs that are installed. The first start of each makes the seed, and is not
// counted.
func BenchmarkStart(b *testing.B) {
	for name, crds := range map[string]controlplane.CRDs{"none": controlplane.NoCRDs, "light": controlplane.LightCRDs, "full": controlplane.FullCRDs} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, stop, err := controlplane.StartForMain(controlplane.Options{CRDs: crds, Own: true, Nodes: -1, WithoutScheduler: true})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				stop()
				b.StartTimer()
			}
		})
	}
}
