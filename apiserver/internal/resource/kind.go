package resource

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
)

// Kind is what differs between kinds.
type Kind struct {
	store.Kind
	// Checks are the rules on the kind.
	Checks validation.Checks
	// Message mirrors the resource; an empty one is enough.
	Message proto.Message
	// Service is the gRPC service that serves the kind.
	Service *grpc.ServiceDesc
	// Basic are the paths below spec that the BASIC view shows; a list on the way means each of its items.
	Basic []string
	// Groups is the path of the worker groups that Scale changes. Empty means that there are none.
	Groups string
	// States are what Wait can wait for, by name, besides deleted and conditions.
	States map[string]func(*store.Item) Progress
	// Finished says why a tree cannot be suspended any more; empty when it can. Nil means that it always can.
	Finished func(tree map[string]any) string
}

// Progress says how far an object is on the way to a state.
type Progress struct {
	// Done says that it is there.
	Done bool
	// Never says why it will not get there; empty while it may.
	Never string
	// Now describes where it is, for whoever has waited in vain.
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
