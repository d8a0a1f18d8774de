// Package raygate is the Go client of the gateway: it speaks in the types of api/ray/v1 and calls by gRPC.
//
//	client, err := raygate.Dial(raygate.Config{Address: "raygate.example.com", Token: raygate.ServiceAccountToken()})
//	...
//	cluster, err := client.Clusters("team").Create(ctx, &rayv1.RayCluster{...}, raygate.CreateOptions{})
//	for cluster, err := range client.Clusters("team").List(ctx, raygate.ListOptions{}) { ... }
//
// Calls that failed for a while are tried again when that cannot do a thing twice: creates carry a request id, and the gateway's hint when to
// come back is followed. Watches go on behind what was seen last when their stream ends. Errors are gRPC statuses; [ProblemOf] takes them apart.
//
// The generated clients of proto/gen/go/raygate/v2 can be used with [Client.Conn], with the same credentials and retries.
package raygate
