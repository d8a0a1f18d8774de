package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/util/validation"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// packageName matches the names that Ray's clients give to archives.
var packageName = regexp.MustCompile(`^_ray_pkg_[A-Za-z0-9_-]{1,128}\.zip$`)

func checkPackageName(name string) error {
	if !packageName.MatchString(name) {
		return rpcstatus.BadField("package_name", "%q must have the form _ray_pkg_HASH.zip", name)
	}
	return nil
}

func packageURI(name string) string { return "gcs://" + name }

// packageRequest is a request about a package of a cluster, or about one for a RayJob that gets a cluster of its own.
type packageRequest interface {
	GetNamespace() string
	GetCluster() string
	GetPackageName() string
	GetJobName() string
}

// openStore returns the store of packages for a request without a cluster. Its caller may create RayJobs.
func (s *submissionServer) openStore(ctx context.Context, req packageRequest) (*packages.Store, error) {
	if problems := validation.IsDNS1123Label(req.GetNamespace()); len(problems) > 0 {
		return nil, rpcstatus.BadField("namespace", "%q is not a namespace: %s", req.GetNamespace(), strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1123Label(req.GetJobName()); len(problems) > 0 {
		return nil, rpcstatus.BadField("job_name", "%q is not a name of a RayJob, which is required without a cluster: %s", req.GetJobName(), strings.Join(problems, "; "))
	}
	access := authz.Access{Verb: "create", Group: rayv1.GroupVersion.Group, Resource: "rayjobs", Namespace: req.GetNamespace()}
	if err := s.jobs.Authorizer.Authorize(ctx, access); err != nil {
		return nil, err
	}
	if _, err := s.jobs.In(req.GetNamespace()); err != nil {
		return nil, err
	}
	if s.packages == nil {
		return nil, rpcstatus.Precondition("NO_PACKAGE_STORE", "this gateway keeps no packages for new clusters: an administrator can set --package-url and "+
			"--package-store; or use a running cluster, or the URL of an archive as working_dir")
	}
	return s.packages, nil
}

func checkNoJob(req packageRequest) error {
	if req.GetJobName() != "" {
		return rpcstatus.BadField("job_name", "not allowed with a cluster")
	}
	return nil
}

// GetPackage implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) GetPackage(ctx context.Context, req *raygatev2.GetPackageRequest) (*raygatev2.GetPackageResponse, error) {
	uri, err := s.findPackage(ctx, req)
	if err == nil && uri == "" {
		err = &rpcstatus.Error{Code: codes.NotFound, Reason: "PACKAGE_NOT_FOUND", Message: fmt.Sprintf("there is no package %s here", req.GetPackageName())}
	}
	if err != nil {
		return nil, err
	}
	return &raygatev2.GetPackageResponse{Uri: uri}, nil
}

// findPackage returns the URI of a package; empty if there is none.
func (s *submissionServer) findPackage(ctx context.Context, req *raygatev2.GetPackageRequest) (uri string, err error) {
	if err := checkPackageName(req.GetPackageName()); err != nil {
		return "", err
	}
	if req.GetCluster() == "" {
		kept, err := s.openStore(ctx, req)
		if err != nil {
			return "", err
		}
		if found, err := kept.Has(ctx, req.GetNamespace(), req.GetPackageName()); !found || err != nil {
			return "", err
		}
		return kept.URLFor(req.GetNamespace(), req.GetPackageName(), req.GetJobName())
	}
	if err := checkNoJob(req); err != nil {
		return "", err
	}
	_, c, err := s.open(ctx, req, "get")
	if err != nil {
		return "", err
	}
	if found, err := c.HasPackage(ctx, req.GetPackageName()); !found || err != nil {
		return "", dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	return packageURI(req.GetPackageName()), nil
}

// UploadPackage implements raygatev2.SubmissionServiceServer. It is a method of gRPC, so that clients use the connection that they have: the
// address of REST, which the Service often does not share with gRPC, would be one more setting. It holds one message at a time. Browsers have
// REST only, and use PutPackage.
func (s *submissionServer) UploadPackage(stream grpc.ClientStreamingServer[raygatev2.UploadPackageRequest, raygatev2.UploadPackageResponse]) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return rpcstatus.BadField("package_name", "required")
	}
	if err != nil {
		return err
	}
	if err := checkUpload(first); err != nil {
		return err
	}
	content := &upload{stream: stream, left: first.GetSize()}
	if err := content.take(first); err != nil {
		return err
	}
	uri, err := s.put(stream.Context(), first, content)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&raygatev2.UploadPackageResponse{Uri: uri})
}

func checkUpload(req *raygatev2.UploadPackageRequest) error {
	if err := checkPackageName(req.GetPackageName()); err != nil {
		return err
	}
	if req.GetSize() < 1 {
		return rpcstatus.BadField("size", "%d must be positive", req.GetSize())
	}
	return nil
}

// PutPackage returns a function that stores a package, which arrives as one body by REST, and returns its URI. req has no data.
func PutPackage(r Resources, dashboards *dashboardproxy.Proxy) func(ctx context.Context, req *raygatev2.UploadPackageRequest, content io.Reader) (uri string, err error) {
	s := newSubmissionServer(r, dashboards)
	return func(ctx context.Context, req *raygatev2.UploadPackageRequest, content io.Reader) (uri string, err error) {
		if err := checkUpload(req); err != nil {
			return "", err
		}
		return s.put(ctx, req, content)
	}
}

// put stores a package in the cluster of a request, or without one in the gateway.
func (s *submissionServer) put(ctx context.Context, req *raygatev2.UploadPackageRequest, content io.Reader) (uri string, err error) {
	if req.GetCluster() == "" {
		return s.putIntoStore(ctx, req, content)
	}
	return s.putIntoCluster(ctx, req, content)
}

func (s *submissionServer) putIntoStore(ctx context.Context, req *raygatev2.UploadPackageRequest, content io.Reader) (uri string, err error) {
	kept, err := s.openStore(ctx, req)
	if err != nil {
		return "", err
	}
	if uri, err = kept.URLFor(req.GetNamespace(), req.GetPackageName(), req.GetJobName()); err != nil {
		return "", err
	}
	return uri, kept.Put(ctx, req.GetNamespace(), req.GetPackageName(), req.GetSize(), content)
}

func (s *submissionServer) putIntoCluster(ctx context.Context, req *raygatev2.UploadPackageRequest, content io.Reader) (uri string, err error) {
	if req.GetSize() > reverseproxy.MaxBody {
		return "", rpcstatus.BadField("size", "%d exceeds %d, the largest body that Ray's dashboard accepts", req.GetSize(), reverseproxy.MaxBody)
	}
	if err := checkNoJob(req); err != nil {
		return "", err
	}
	d, c, err := s.open(ctx, req, "update")
	if err != nil {
		return "", err
	}
	if err := d.CheckReady(); err != nil {
		return "", err
	}
	err = c.PutPackage(ctx, req.GetPackageName(), req.GetSize(), content)
	return packageURI(req.GetPackageName()), dashboardproxy.Status(ctx, req.GetCluster(), err)
}

// upload reads the content of a package.
type upload struct {
	stream grpc.ClientStreamingServer[raygatev2.UploadPackageRequest, raygatev2.UploadPackageResponse]
	part   []byte
	left   int64
}

// Read implements io.Reader. A package of another size than announced is an error.
func (u *upload) Read(b []byte) (int, error) {
	for len(u.part) == 0 {
		message, err := u.stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && u.left > 0:
			return 0, wrongSize("%d bytes of the package are missing", u.left)
		case err != nil: // also the regular end
			return 0, err
		}
		if err := u.take(message); err != nil {
			return 0, err
		}
	}
	if int64(len(u.part)) > u.left {
		return 0, wrongSize("the package has more bytes than its size says")
	}
	n := copy(b, u.part)
	u.part, u.left = u.part[n:], u.left-int64(n)
	return n, nil
}

// take takes the data out of a message, which may live longer. The next Recv releases the bytes that it holds.
func (u *upload) take(m *raygatev2.UploadPackageRequest) error {
	u.part, m.Data = m.GetData(), nil
	return flowcontrol.Hold(u.stream.Context(), int64(len(u.part)))
}

func wrongSize(format string, args ...any) error {
	return &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "WRONG_SIZE", Message: fmt.Sprintf(format, args...)}
}
