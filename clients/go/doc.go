// Package raygate is the Go client of the gateway: it uses the types of api/ray/v1 and calls by gRPC.
//
//	client, err := raygate.Dial(raygate.Config{Address: "raygate.example.com", Token: raygate.ServiceAccountToken()})
//	...
//	cluster, err := client.Clusters("team").Create(ctx, &rayv1.RayCluster{...}, raygate.CreateOptions{})
//	for cluster, err := range client.Clusters("team").List(ctx, raygate.ListOptions{}) { ... }
//
// Temporary failures are retried if a repeated call cannot take effect twice: creates have a request id, and retries wait as long as the
// gateway requests. Watches resume after the last event when their stream ends. Errors are gRPC statuses; [ProblemOf] returns their parts.
//
// The generated clients of proto/gen/go/raygate/v2 can be used with [Client.Conn], with the same credentials and retries.
package raygate
