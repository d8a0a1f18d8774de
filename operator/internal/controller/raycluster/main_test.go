package raycluster

import (
	"testing"

	"github.com/raygate/raygate/test/envtest"
)

var controlPlane = envtest.Share(envtest.Options{})

func TestMain(m *testing.M) { controlPlane.Main(m) }
