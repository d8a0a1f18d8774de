package deviceadmission

import (
	"net/http"

	"github.com/raygate/raygate/operator/internal/devicequota"
)

// Paths of the webhooks.
const (
	MutatePath   = "/mutate-core-v1-pod-devices"
	ValidatePath = "/validate-core-v1-pod-devices"
)

// Register registers the webhooks by the method of a webhook server. Each call of a webhook reads the registry once. Without a quota,
// the validating webhook checks only the rules for every Pod.
func Register(register func(path string, hook http.Handler), registry devicequota.Registry, quota Quota, m *Metrics) {
	v := &validator{quota: quota, metrics: m}
	register(MutatePath, &hook{name: "mutate", registry: registry, metrics: m, handle: complete})
	register(ValidatePath, &hook{name: "validate", registry: registry, metrics: m, ready: v.ready, handle: v.handle})
}
