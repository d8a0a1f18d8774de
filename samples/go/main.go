// Reads a Ray cluster over gRPC and prints it, with the generated stubs alone. samples/clients/go shows the Go client. Usage: go run ./samples/go
// [NAMESPACE] NAME
//
// The address is $RAYGATE_GRPC, which the local cluster's settings file sets. $RAYGATE_TOKEN, when set, is sent as bearer token.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func main() {
	if err := run(os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, getenv func(string) string, out io.Writer) error {
	namespace := "default"
	if len(args) == 2 {
		namespace, args = args[0], args[1:]
	}
	if len(args) != 1 {
		return errors.New("usage: go run ./samples/go [NAMESPACE] NAME")
	}
	address := getenv("RAYGATE_GRPC")
	if address == "" {
		address = "127.0.0.1:8887"
	}
	// The local gateway speaks plain text; use credentials.NewTLS for one that does not.
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if token := getenv("RAYGATE_TOKEN"); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	resp, err := raygatev2.NewClusterServiceClient(conn).GetCluster(ctx, &raygatev2.GetClusterRequest{Namespace: namespace, Name: args[0]})
	if err != nil {
		return fmt.Errorf("getting cluster %s/%s: %w", namespace, args[0], err)
	}
	_, err = fmt.Fprintln(out, protojson.Format(resp.GetCluster()))
	return err
}
