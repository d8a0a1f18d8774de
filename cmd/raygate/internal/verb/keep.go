package verb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func newKeep(flags *connect.Flags) *cobra.Command {
	span := 2 * time.Hour
	c := &modify{verb: "Update", done: "kept", do: func(ctx context.Context, m *raygate.Messages, name string, w raygate.WriteOptions) (proto.Message, error) {
		// Without the annotation in the object, the path in the mask removes it.
		rc := &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{}}
		if span > 0 {
			rc.Metadata.Annotations = map[string]string{rayv1.AnnotationKeepUntil: time.Now().Add(span).UTC().Format(time.RFC3339)}
		}
		return m.Update(ctx, name, rc, raygate.UpdateOptions{WriteOptions: w, Mask: []string{`metadata.annotations["` + rayv1.AnnotationKeepUntil + `"]`}})
	}}
	cmd := &cobra.Command{
		Use:   "keep CLUSTER...",
		Short: "Keep clusters that are idle or old for some time",
		Long: `Keep clusters from being suspended or deleted by their annotations raygate.io/idle-timeout and
raygate.io/max-age. Afterwards the annotations apply again. A duration of 0 ends an earlier keep.
Resume a cluster that is suspended already.`,
		Example: `  raygate keep demo --for 8h
  raygate keep demo --for 0`,
		Args: cobra.MinimumNArgs(1),
		RunE: run(flags, func(ctx context.Context, s *session, args []string) error {
			if span < 0 {
				return errors.New("--for must not be negative")
			}
			for i, arg := range args {
				r, err := namedOne("raycluster", arg)
				if err != nil {
					return err
				}
				if r.Kind.Kind != raygate.ClusterKind {
					return fmt.Errorf("%s cannot be kept, only clusters", r.Kind.Plural)
				}
				args[i] = r.String()
			}
			return c.run(ctx, s, args)
		}),
	}
	c.add(flags, cmd)
	cmd.Flags().DurationVar(&span, "for", span, "time from now on")
	return cmd
}
