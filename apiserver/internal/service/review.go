package service

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Review returns what is wrong with an object besides its form, so that a client whose JSON or YAML has mistakes learns of everything in one
// answer. m holds what could be read, form says what could not. Nothing is added for a message that is no object, or a document that could not be
// read as a whole.
func (s *Clusters) Review(m proto.Message, form []rpcstatus.Violation) []rpcstatus.Violation {
	in, ok := m.(*raygatev2.RayCluster)
	if !ok || slices.ContainsFunc(form, func(v rpcstatus.Violation) bool { return v.Field == "" }) {
		return nil
	}
	rc, content := modelv2.ClusterToRay(in)
	stored := rc.DeepCopy()
	rayv1.SetRayClusterDefaults(stored)
	content = kubedoc.Join(content, validation.RayCluster(stored, s.Validation))
	content = slices.DeleteFunc(content, func(e *field.Error) bool {
		return slices.ContainsFunc(form, func(v rpcstatus.Violation) bool { return kubedoc.Follows(e, v.Field, v.Reason) })
	})
	return violations(content)
}
