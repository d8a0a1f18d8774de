package raycluster

import (
	"testing"

	"github.com/raygate/raygate/test/controlplane"
)

var controlPlane = controlplane.Share(controlplane.Options{Own: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }
