// Package webhook serves the webhooks for ray.io objects: it validates, sets documented defaults, keeps fields that an old client
// would lose, and converts between versions.
//
// It is an adapter. Rules are in pkg/validation, conversion is in operator/internal/conversion. Nothing here calls the API server,
// so every replica serves the webhooks before any cache is synced. Without them an installation loses only early feedback: CRDs
// contain the CEL rules, and controllers check every object again. For that reason an internal error lets an object pass with a
// warning instead of blocking all writes.
package webhook

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
	"github.com/raygate/raygate/operator/internal/conversion"
	"github.com/raygate/raygate/pkg/validation"
)

const group = rayv1.GroupName

var (
	hubVersion = rayv1.GroupVersion.Version
	oldVersion = rayv1alpha1.GroupVersion.Version
)

// ConvertPath is the path of the conversion webhook.
const ConvertPath = "/convert"

// ValidatePath returns the path of the validating webhook of the kind, the same as KubeRay's.
func ValidatePath(kind string) string {
	return "/validate-ray-io-v1-" + strings.ToLower(kind)
}

// MutatePath returns the path of the mutating webhook of the kind. Kinds that exist only in v1 have none.
func MutatePath(kind string) string {
	return "/mutate-ray-io-v1-" + strings.ToLower(kind)
}

// Register registers all webhooks by the method of a webhook server. devices may be nil.
func Register(register func(path string, hook http.Handler), o validation.Options, stage Stage, m *Metrics, devices *Devices) {
	register(ConvertPath, &converter{metrics: m})
	for _, checks := range validation.AllChecks() {
		k := kind{checks}
		// Compiling a schema with hundreds of rules takes a second, and few installations have clients of v1alpha1.
		schema := sync.OnceValues(func() (*hubSchema, error) { return newHubSchema(k.Kind) })
		v := &validator{kind: k, options: o, stage: stage, clock: clock.RealClock{}, schema: schema, devices: devices}
		register(ValidatePath(k.Kind), &admission.Webhook{Handler: &handler{kind: k, name: "validate", metrics: m, handle: v.handle}})
		if conversion.Converts(k.Kind) {
			register(MutatePath(k.Kind), &admission.Webhook{Handler: &handler{kind: k, name: "mutate", metrics: m, handle: mutate(k)}})
		}
	}
}
