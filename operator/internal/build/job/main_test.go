package job

import (
	"testing"

	"github.com/raygate/raygate/test/controlplane"
)

// controlPlane leaves Pods unscheduled.
var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }
