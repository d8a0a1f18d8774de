package convert

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Object is a pointer to a custom resource.
type Object interface {
	metav1.Object
	runtime.Object
}

// The kinds.
var (
	RayCluster = Pair[*rayv1.RayCluster, *raygatev2.RayCluster]{kind: "RayCluster"}
	RayJob     = Pair[*rayv1.RayJob, *raygatev2.RayJob]{kind: "RayJob"}
	RayService = Pair[*rayv1.RayService, *raygatev2.RayService]{kind: "RayService"}
	RayCronJob = Pair[*rayv1.RayCronJob, *raygatev2.RayCronJob]{kind: "RayCronJob"}
)

// Pair converts between a custom resource T and the message M that mirrors it.
type Pair[T Object, M proto.Message] struct{ kind string }

// Message returns the message of an object, with apiVersion and kind filled in; nil for nil. It leaves out managedFields and selfLink,
// which messages lack. An error means that the object has no JSON, or a value that a message cannot represent, and names the field.
func (p Pair[T, M]) Message(object T) (M, error) {
	var none M
	if any(object) == any(*new(T)) {
		return none, nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return none, fmt.Errorf("encoding %s %s: %w", p.kind, object.GetName(), err)
	}
	var tree map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &tree); err != nil {
		return none, fmt.Errorf("reading the JSON of %s %s: %w", p.kind, object.GetName(), err)
	}
	tree["apiVersion"], tree["kind"] = rayv1.GroupVersion.String(), p.kind
	m := none.ProtoReflect().New().Interface().(M)
	if err := Fill(m, tree); err != nil {
		return none, fmt.Errorf("converting %s %s: %w", p.kind, object.GetName(), err)
	}
	return m, nil
}

// Object returns the object of a message, with apiVersion and kind filled in; nil for nil. Fields of a newer Kubernetes in its documents (pod templates,
// Services ...) that the Go types do not have are left out, as by every typed client; Update and Apply leave them alone, Replace does not. An error
// lists every value that is malformed, with its path.
func (p Pair[T, M]) Object(m M) (T, error) {
	var none T
	if !m.ProtoReflect().IsValid() {
		return none, nil
	}
	object := newOf(none)
	errs := manifest.Decode(Tree(m), object, nil)
	errs = slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Origin == problem.UnknownField })
	if len(errs) > 0 {
		return none, fmt.Errorf("converting a message to %s: %w", p.kind, errs.ToAggregate())
	}
	object.GetObjectKind().SetGroupVersionKind(rayv1.GroupVersion.WithKind(p.kind))
	return object, nil
}
