package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
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

// GetPackage implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) GetPackage(ctx context.Context, req *raygatev2.GetPackageRequest) (*raygatev2.GetPackageResponse, error) {
	if err := checkPackageName(req.GetPackageName()); err != nil {
		return nil, err
	}
	_, c, err := s.open(ctx, req, "get")
	if err != nil {
		return nil, err
	}
	found, err := c.HasPackage(ctx, req.GetPackageName())
	switch {
	case err != nil:
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	case !found:
		return nil, &rpcstatus.Error{
			Code: codes.NotFound, Reason: "PACKAGE_NOT_FOUND", Message: fmt.Sprintf("RayCluster %s does not have the package %s", req.GetCluster(), req.GetPackageName()),
		}
	}
	return &raygatev2.GetPackageResponse{Uri: packageURI(req.GetPackageName())}, nil
}

// UploadPackage implements raygatev2.SubmissionServiceServer. It is a method of gRPC, so that clients use the connection that they have: the
// address of REST, which the Service often does not share with gRPC, would be one more setting. It holds one message at a time.
func (s *submissionServer) UploadPackage(stream grpc.ClientStreamingServer[raygatev2.UploadPackageRequest, raygatev2.UploadPackageResponse]) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return rpcstatus.BadField("package_name", "required")
	}
	if err != nil {
		return err
	}
	if err := checkPackageName(first.GetPackageName()); err != nil {
		return err
	}
	if size := first.GetSize(); size < 1 || size > reverseproxy.MaxBody {
		return rpcstatus.BadField("size", "%d must be from 1 to %d, the largest body that Ray's dashboard accepts", size, reverseproxy.MaxBody)
	}
	ctx := stream.Context()
	d, c, err := s.open(ctx, first, "update")
	if err != nil {
		return err
	}
	if err := d.CheckReady(); err != nil {
		return err
	}
	content := &upload{stream: stream, left: first.GetSize()}
	if err := content.take(first); err != nil {
		return err
	}
	if err := c.PutPackage(ctx, first.GetPackageName(), first.GetSize(), content); err != nil {
		return dashboardproxy.Status(ctx, first.GetCluster(), err)
	}
	return stream.SendAndClose(&raygatev2.UploadPackageResponse{Uri: packageURI(first.GetPackageName())})
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
