package job

import (
	"testing"

	"github.com/raygate/raygate/test/envtest"
)

// controlPlane leaves Pods unscheduled.
var controlPlane = envtest.Share(envtest.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }
