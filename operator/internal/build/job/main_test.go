package job

import (
	"os"
	"sync"
	"testing"

	"github.com/raygate/raygate/test/envtest"
)

// controlPlane starts a real control plane when the first test needs it, so that tests that do not are quick. Its Pods
// stay unscheduled.
var controlPlane = sync.OnceValues(func() (*envtest.Env, error) {
	env, stop, err := envtest.StartForMain(envtest.Options{Nodes: -1, WithoutScheduler: true})
	if err == nil {
		stopControlPlane = stop
	}
	return env, err
})

var stopControlPlane = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopControlPlane()
	os.Exit(code)
}
