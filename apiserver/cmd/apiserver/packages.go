package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
)

// PackageOptions are about packages of files for RayJobs that get a cluster of their own.
type PackageOptions struct {
	// Store is the URL of a bucket. Empty means that of the history.
	Store string
	// URL is where Pods of Ray reach the gateway. Empty means that the gateway keeps no packages.
	URL string
	// MaxSize and NamespaceSize are quantities of bytes.
	MaxSize, NamespaceSize string
	Keep                   time.Duration

	url                    *url.URL
	maxSize, namespaceSize int64
}

func (p *PackageOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.URL, "package-url", p.URL, "URL of the REST address for the Pods of Ray, as in https://raygate-apiserver.raygate-system.svc:8888: RayJobs with a cluster of their own get the files that clients upload from there. Ray must trust the certificate. http:// needs a version of Ray that fetches from it. Unset: the gateway keeps no packages.")
	fs.StringVar(&p.Store, "package-store", p.Store, "Store of these files, in the form of --history-store. Unset: that of --history-store.")
	fs.StringVar(&p.MaxSize, "package-max-size", p.MaxSize, "Largest package.")
	fs.StringVar(&p.NamespaceSize, "package-namespace-size", p.NamespaceSize, "Most bytes of the packages of a namespace. The oldest ones are deleted, except those that RayJobs use.")
	fs.DurationVar(&p.Keep, "package-keep", p.Keep, "How long a package is kept that no RayJob uses.")
}

// validate also reads the values.
func (p *PackageOptions) validate(history string, check func(wrong bool, format string, args ...any)) {
	for flag, size := range map[string]struct {
		text string
		into *int64
	}{"--package-max-size": {p.MaxSize, &p.maxSize}, "--package-namespace-size": {p.NamespaceSize, &p.namespaceSize}} {
		quantity, err := resource.ParseQuantity(size.text)
		check(err != nil || quantity.Value() <= 0, "%s=%s is not a number of bytes, as in 512Mi", flag, size.text)
		*size.into = quantity.Value()
	}
	check(p.Keep < 2*time.Hour, "--package-keep must be at least 2h")
	if p.URL == "" {
		check(p.Store != "", "--package-store needs --package-url, by which Pods of Ray reach the gateway")
		return
	}
	var err error
	p.url, err = url.Parse(p.URL)
	check(err != nil || p.url.Host == "" || p.url.Scheme != "https" && p.url.Scheme != "http" || p.url.User != nil, "--package-url must have the form https://HOST[:PORT]")
	check(p.Store == "" && history == "", "--package-url needs --package-store or --history-store")
}

// openPackages opens the store of packages; nil if it is off.
func (a *app) openPackages(ctx context.Context) (*packages.Store, error) {
	p := &a.opts.Packages
	if p.URL == "" {
		return nil, nil
	}
	bucket, err := history.OpenBucket(ctx, cmp.Or(p.Store, a.opts.HistoryStore), 0)
	if err != nil {
		return nil, fmt.Errorf("opening the package store: %w", err)
	}
	jobs := a.stores[service.Jobs.Resource]
	return packages.New(packages.Options{
		Bucket: bucket, URL: p.url, Keys: a.opts.pageTokenKeys, Job: jobs.get, Jobs: jobs.all, MaxSize: p.maxSize, NamespaceSize: p.namespaceSize, Keep: p.Keep,
	}), nil
}

// all returns the objects of a namespace.
func (s stores) all(ctx context.Context, namespace string) ([]*store.Item, error) {
	one, err := s.one(namespace)
	if err != nil {
		return nil, err
	}
	return one.All(ctx, store.Selection{Namespace: namespace})
}

// sweepInterval is the interval at which expired packages are deleted.
const sweepInterval = time.Hour

// sweepPackages deletes old packages until ctx ends.
func (a *app) sweepPackages(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := a.packages.Sweep(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "Deleting old packages")
			}
		}
	}
}
