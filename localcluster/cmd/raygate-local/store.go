package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/raygate/raygate/localcluster/internal/controlplane"
	"github.com/raygate/raygate/localcluster/internal/proc"
)

const (
	// storeS3 is the value of --store with an S3 server.
	storeS3 = "s3"
	// bucket is the bucket of the history in it.
	bucket = "raygate-history"
)

func (p paths) s3() string      { return filepath.Join(p.bin, "raygate-s3") }
func (p paths) buckets() string { return filepath.Join(p.data, "s3") }

func (o *runOptions) checkStore(p paths) error {
	switch {
	case o.store == "":
		return nil
	case o.store != storeS3:
		return fmt.Errorf("--store: %q is not %s", o.store, storeS3)
	case o.withoutRaygate:
		return errors.New("--store needs the operator and the gateway, which --without-raygate omits")
	case !exists(p.s3()):
		return errors.New("not built yet: bin/raygate-s3; run: make store")
	}
	return nil
}

// historyStore is the store of operator and gateway.
type historyStore struct {
	flag string
	// env has the credentials.
	env []string
}

// startStore starts the S3 server, if any. Its credentials are those of this run.
func (r *runner) startStore(ctx context.Context) (historyStore, error) {
	if r.opts.store == "" {
		return historyStore{flag: "--history-store=" + (&url.URL{Scheme: "file", Path: r.paths.history()}).String()}, nil
	}
	if err := os.MkdirAll(r.paths.buckets(), 0o700); err != nil {
		return historyStore{}, fmt.Errorf("making folder: %w", err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", r.ports[portStore])
	query := url.Values{"region": {"us-east-1"}, "endpoint": {"http://" + address}, "use_path_style": {"true"}}
	s := historyStore{
		flag: "--history-store=" + (&url.URL{Scheme: "s3", Host: bucket, RawQuery: query.Encode()}).String(),
		env: []string{
			"AWS_ACCESS_KEY_ID=raygate", "AWS_SECRET_ACCESS_KEY=" + rand.Text(),
			"AWS_SESSION_TOKEN=", "AWS_PROFILE=", "AWS_CONFIG_FILE=" + os.DevNull, // those of the user are for another server
		},
	}
	r.out.printf("starting the S3 server")
	server, err := r.group.Start(proc.Spec{
		Name: "raygate-s3", Path: r.paths.s3(), Log: r.paths.log("raygate-s3"), Env: s.env,
		Args: []string{"-dir", r.paths.buckets(), "-bucket", bucket, "-address", address},
	}, controlplane.LayerPrograms, time.Second)
	if err != nil {
		return historyStore{}, err
	}
	wait := controlplane.Wait{Process: server, For: "S3 server", Limit: controlplane.StartLimit, Progress: r.out.printf}
	return s, wait.UntilHTTP(ctx, "http://"+address+"/healthz")
}
