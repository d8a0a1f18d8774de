package packages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"gocloud.dev/gcerrors"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/seal"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
)

// Options of New. All are required but Keys and Clock.
type Options struct {
	Bucket history.Bucket
	// URL is where the Pods of Ray reach Prefix of the gateway.
	URL *url.URL
	// Keys are those of seal.New.
	Keys [][]byte
	// Job reads a RayJob, and Jobs those of a namespace.
	Job  func(ctx context.Context, key types.NamespacedName) (*store.Item, error)
	Jobs func(ctx context.Context, namespace string) ([]*store.Item, error)
	// MaxSize is the largest package, and NamespaceSize the most of all packages of a namespace, in bytes.
	MaxSize, NamespaceSize int64
	// Keep is how long a package is kept that no RayJob uses.
	Keep time.Duration
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

// Store keeps packages. It is safe for concurrent use, also by several processes.
type Store struct {
	Options
	box *seal.Box

	mu sync.Mutex
	// arriving are the bytes of packages that are being stored, by namespace.
	arriving map[string]int64
}

// New returns a Store.
func New(o Options) *Store {
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
	return &Store{Options: o, box: seal.New(o.Keys, "raygate packages of jobs"), arriving: map[string]int64{}}
}

// name matches the name of a package with its sum.
var name = regexp.MustCompile(`^_ray_pkg_([0-9a-f]{64})\.zip$`)

func sumOf(packageName string) (string, error) {
	found := name.FindStringSubmatch(packageName)
	if found == nil {
		return "", rpcstatus.BadField("package_name", "%q must have the form _ray_pkg_HASH.zip with the SHA-256 sum of the package in hexadecimal", packageName)
	}
	return found[1], nil
}

func folder(namespace string) string { return "packages/" + namespace + "/" }

// Has reports whether there is the package. A package that might be deleted before a RayJob uses it does not count: storing it again makes it
// new.
func (s *Store) Has(ctx context.Context, namespace, packageName string) (bool, error) {
	sum, err := sumOf(packageName)
	if err != nil {
		return false, err
	}
	found, err := s.Bucket.Attributes(ctx, folder(namespace)+sum)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return false, nil
	case err != nil:
		return false, failed(ctx, "Look for a package", err)
	}
	return s.Clock.Since(found.ModTime) < s.Keep/2, nil
}

// Put stores a package of size bytes.
func (s *Store) Put(ctx context.Context, namespace, packageName string, size int64, content io.Reader) error {
	sum, err := sumOf(packageName)
	if err != nil {
		return err
	}
	if size > s.MaxSize {
		return rpcstatus.BadField("size", "%d exceeds %d, the limit of this gateway; leave out files that the job does not need", size, s.MaxSize)
	}
	leave, err := s.makeRoom(ctx, namespace, size)
	if err != nil {
		return err
	}
	defer leave()
	w, err := s.Bucket.NewWriter(ctx, folder(namespace)+sum, "application/zip")
	if err != nil {
		return failed(ctx, storing, err)
	}
	hash := sha256.New()
	_, err = io.Copy(writer{ctx, w}, io.TeeReader(content, hash))
	if err == nil && hex.EncodeToString(hash.Sum(nil)) != sum {
		err = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "WRONG_SUM", Message: "the SHA-256 sum of the package is not that of its name"}
	}
	if err != nil {
		w.Discard()
		return err
	}
	return failed(ctx, storing, w.Close())
}

const storing = "Store a package"

// writer translates the errors of the bucket, and leaves those of the content, which it is copied from.
type writer struct {
	ctx context.Context //nolint:containedctx // that of one call of Put
	to  io.Writer
}

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	return n, failed(w.ctx, storing, err)
}

// retry is when a client may try again.
const retry = 10 * time.Second

// failed translates an error of the bucket, whose text may name buckets and hosts, so that callers do not get it. Nil for nil.
func failed(ctx context.Context, doing string, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	klog.FromContext(ctx).Error(err, doing)
	return &rpcstatus.Error{Code: codes.Unavailable, Reason: "PACKAGES_UNAVAILABLE", Message: "the store of packages cannot be used now", RetryAfter: retry}
}

// sealed identifies the target of a URL: namespace, RayJob and checksum of the package.
type sealed [3]string

const purpose = "url"

// Prefix of the paths of packages.
const Prefix = "/packages/"

// maxURL is the length of a URL that Ray can make the name of a file of.
const maxURL = 240

// URLFor returns the URL of a package for a RayJob that has it in its runtime environment later.
func (s *Store) URLFor(namespace, packageName, job string) (string, error) {
	sum, err := sumOf(packageName)
	if err != nil {
		return "", err
	}
	address := s.URL.JoinPath(Prefix, s.box.Seal(sealed{namespace, job, sum}, purpose)+".zip").String()
	if len(address) > maxURL {
		return "", rpcstatus.BadField("job_name", "%q makes the URL of the package longer than Ray can use; choose a shorter name", job)
	}
	return address, nil
}

// errNoPackage is the same whatever is wrong with a URL.
var errNoPackage = rpcstatus.PathNotFound("there is no such package, or its RayJob has ended")

// Open returns the package at a path below Prefix, and its size.
func (s *Store) Open(ctx context.Context, path string) (io.ReadCloser, int64, error) {
	var of sealed
	text, ok := strings.CutSuffix(path, ".zip")
	if !ok || s.box.Open(text, purpose, &of) != nil {
		return nil, 0, errNoPackage
	}
	item, err := s.Job(ctx, types.NamespacedName{Namespace: of[0], Name: of[1]})
	if err != nil || !strings.Contains(runtimeEnv(item), Prefix+text+".zip") {
		return nil, 0, errNoPackage
	}
	in, err := s.Bucket.NewReader(ctx, folder(of[0])+of[2])
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil, 0, errNoPackage
	case err != nil:
		return nil, 0, failed(ctx, "Read a package", err)
	}
	return in, in.Size(), nil
}
