package resource

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/validation"
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
	// Diagnosis adds the findings about an object, the most important first, and returns whether the object is ready.
	Diagnosis func(ctx context.Context, e *evidence) (ready bool, err error)
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

// keepOf returns a tree of members to keep. Its leaves keep everything below.
func keepOf(paths []string) map[string]any {
	root := map[string]any{}
	for _, path := range paths {
		parts := strings.Split(path, ".")
		last := len(parts) - 1
		manifest.Nested(root, parts[:last]...)[parts[last]] = nil
	}
	return root
}

// kept returns the part of a value that a tree keeps; nil keeps everything.
func kept(keep, value any) any {
	members, ok := keep.(map[string]any)
	if !ok {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range members {
			if member, ok := v[name]; ok {
				out[name] = kept(below, member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = kept(keep, v[i])
		}
		return out
	}
	return value
}
