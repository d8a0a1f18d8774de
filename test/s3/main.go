package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// maxRequests is far above what tests send at once.
const maxRequests = 1024

func main() {
	address := flag.String("address", "127.0.0.1:8893", "address to serve at; its host must be 127.0.0.1")
	dir := flag.String("dir", ".", "folder for the data")
	bucket := flag.String("bucket", "", "bucket to create; empty for none")
	accessLog := flag.String("access-log", "", "file for a line per request; empty for none")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *dir, *bucket, embedgw.Config{Ports: []string{*address}, AccessLog: *accessLog}); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, bucket string, c embedgw.Config) error {
	buckets, attributes := filepath.Join(dir, "buckets"), filepath.Join(dir, "attributes")
	for _, folder := range []string{filepath.Join(buckets, bucket), attributes} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	store, err := meta.NewSideCar(attributes) // not every file system has extended attributes
	if err != nil {
		return err
	}
	backend, err := posix.New(buckets, store, posix.PosixOpts{SideCarDir: attributes, Concurrency: maxRequests})
	if err != nil {
		return err
	}
	c.RootUserAccess, c.RootUserSecret = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	c.MaxConnections, c.MaxRequests, c.MultipartMaxParts = maxRequests, maxRequests, 10_000
	c.KeepAlive, c.Quiet, c.HealthPath = true, true, "/healthz"
	return embedgw.RunVersityGW(ctx, backend, &c)
}
