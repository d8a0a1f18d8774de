package raygate

import (
	"context"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// ProfileLabel on an object is the name of a profile. The gateway adds what the object lacks when it is created or applied.
const ProfileLabel = "raygate.io/profile"

// Profiles returns the profiles that the caller may use in a namespace, by name.
func (c *Client) Profiles(ctx context.Context, namespace string) ([]*raygatev2.Profile, error) {
	resp, err := raygatev2.NewProfileServiceClient(c.conn).ListProfiles(ctx, &raygatev2.ListProfilesRequest{Namespace: namespace})
	return resp.GetProfiles(), err
}

// Queues returns the names of the LocalQueues of Kueue in a namespace, in order; none without Kueue.
func (c *Client) Queues(ctx context.Context, namespace string) (names []string, err error) {
	resp, err := raygatev2.NewProfileServiceClient(c.conn).ListQueues(ctx, &raygatev2.ListQueuesRequest{Namespace: namespace})
	for _, queue := range resp.GetQueues() {
		names = append(names, queue.GetName())
	}
	return names, err
}
