package deviceadmission

import (
	"net/http"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Paths of the webhooks.
const (
	MutatePath   = "/mutate-core-v1-pod-devices"
	ValidatePath = "/validate-core-v1-pod-devices"
)

// Registry provides the current registry. Each call reads it once.
type Registry interface{ Program() *plan.Program }

// Registrar is the part of a webhook server that Register needs.
type Registrar interface {
	Register(path string, hook http.Handler)
}

// Register registers the webhooks. Without a quota, the validating webhook checks only the rules for every Pod.
func Register(server Registrar, registry Registry, quota Quota, m *Metrics) {
	v := &validator{quota: quota, metrics: m}
	server.Register(MutatePath, &hook{name: "mutate", registry: registry, metrics: m, handle: complete})
	server.Register(ValidatePath, &hook{name: "validate", registry: registry, metrics: m, ready: v.ready, handle: v.handle})
}
