package verb

import (
	"context"
	"fmt"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// kueueKind is the kind of the object in which Kueue keeps the state of a job, cluster or service.
const kueueKind = "Workload"

// explainQueues prints the state of objects in a queue of Kueue: whether they wait, their position, the missing quota, evictions. It ignores
// objects whose state the caller may not read.
func explainQueues(ctx context.Context, s *session, items []output.Item) {
	for _, item := range items {
		if metaOf(item.Message).GetLabels()[rayv1.LabelKueueQueue] == "" {
			continue
		}
		about := target{Ref: kind.Ref{Kind: item.Kind, Name: nameOf(item.Message)}, namespace: s.namespace}
		d, err := s.client.Messages(about.Kind.Kind, about.namespace).Diagnose(ctx, about.Name)
		if err != nil {
			continue
		}
		for _, f := range d.Findings {
			if f.GetObject().GetKind() == kueueKind {
				fmt.Fprintf(s.err, "%s: %s: %s\n", about, f.GetReason(), output.Clean(f.GetMessage()))
			}
		}
	}
}
