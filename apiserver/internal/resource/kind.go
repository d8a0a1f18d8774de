package resource

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Kind has the differences between kinds.
type Kind struct {
	store.Kind
	// Checks are the rules on the kind.
	Checks validation.Checks
	// Message mirrors the resource; an empty one is enough.
	Message proto.Message
	// Service is the gRPC service that serves the kind.
	Service *grpc.ServiceDesc
	// Basic are the paths below spec in the BASIC view. They go through all items of lists.
	Basic []string
	// Groups is the path of the worker groups that Scale changes. Empty means that there are none.
	Groups string
	// Cluster is the path of the RayClusterSpec, to which profiles add.
	Cluster []string
	// States are those that Wait can wait for, by name, besides deleted and conditions.
	States map[string]func(*store.Item) Progress
	// Diagnosis returns whether an object is ready, and the reasons why not, the most important first.
	Diagnosis func(ctx context.Context, r *Resource, req target) (ready bool, findings []*raygatev2.Finding, err error)
	// Finished returns why an object can no longer be suspended; empty if it can. Nil means that it always can.
	Finished func(tree map[string]any) string
}

// Progress of an object towards a state.
type Progress struct {
	// Done is set when the state is reached.
	Done bool
	// Never is the reason why the state will not be reached; empty while it may be.
	Never string
	// Now describes the current state, for the error of a wait that ends too early.
	Now string
}

// keep is a tree of members to keep; nil keeps everything below.
type keep map[string]keep

func keepOf(paths []string) keep {
	root := keep{}
	for _, path := range paths {
		at := root
		parts := strings.Split(path, ".")
		for i, part := range parts {
			if i == len(parts)-1 {
				at[part] = nil
				break
			}
			if at[part] == nil {
				at[part] = keep{}
			}
			at = at[part]
		}
	}
	return root
}

func (k keep) of(value any) any {
	if k == nil {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range k {
			if member, ok := v[name]; ok {
				out[name] = below.of(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = k.of(v[i])
		}
		return out
	}
	return value
}
