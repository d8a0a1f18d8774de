package deviceadmission

import (
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Paths of the webhooks.
const (
	MutatePath   = "/mutate-core-v1-pod-devices"
	ValidatePath = "/validate-core-v1-pod-devices"
)

// Registry is the one of now. Each call asks once.
type Registry interface{ Program() *plan.Program }

// Registrar is the part of a webhook server that Register needs.
type Registrar interface {
	Register(path string, hook http.Handler)
}

// Register puts the webhooks on the server. Without a quota the second checks what must hold of every Pod, and nothing else.
func Register(server Registrar, registry Registry, quota Quota, m *Metrics) {
	add := func(path string, h *hook, ready func() error) {
		h.registry, h.metrics = registry, m
		inner := (&admission.Webhook{Handler: h}).WithRecoverPanic(false)
		server.Register(path, &outer{name: h.name, metrics: m, ready: ready, inner: inner})
	}
	add(MutatePath, &hook{name: "mutate", handle: complete}, nil)
	v := &validator{quota: quota, metrics: m}
	add(ValidatePath, &hook{name: "validate", handle: v.handle}, v.ready)
}
