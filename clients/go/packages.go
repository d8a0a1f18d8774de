package raygate

import (
	"context"
	"errors"
	"io"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Packages are archives of files for jobs.
type Packages struct {
	service                 raygatev2.SubmissionServiceClient
	namespace, cluster, job string
}

// Packages returns those that a running cluster has.
func (s *Submissions) Packages() *Packages { return &Packages{s.service, s.namespace, s.cluster, ""} }

// JobPackages returns those that the gateway keeps for RayJobs with a cluster of their own. Their URIs are for the RayJob of this name.
func (c *Client) JobPackages(namespace, job string) *Packages {
	return &Packages{raygatev2.NewSubmissionServiceClient(c.conn), namespace, "", job}
}

// Find returns the URI of a package, for the working_dir of a runtime environment; empty if there is none.
func (p *Packages) Find(ctx context.Context, name string) (uri string, err error) {
	resp, err := p.service.GetPackage(ctx, &raygatev2.GetPackageRequest{Namespace: p.namespace, Cluster: p.cluster, PackageName: name, JobName: p.job})
	if ProblemOf(err).Reason == "PACKAGE_NOT_FOUND" {
		return "", nil
	}
	return resp.GetUri(), err
}

// packagePart is the size of the part of a package in one message, in bytes. It is small, so that the gateway sees progress on a slow connection.
const packagePart = 256 << 10

// Upload stores a package of size bytes and returns its URI. It is not repeated after an error.
func (p *Packages) Upload(ctx context.Context, name string, size int64, content io.Reader) (uri string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.service.UploadPackage(ctx)
	if err != nil {
		return "", err
	}
	message := &raygatev2.UploadPackageRequest{Namespace: p.namespace, Cluster: p.cluster, PackageName: name, JobName: p.job, Size: size}
	for {
		if err := stream.Send(message); err != nil {
			break // the answer has the reason
		}
		part := make([]byte, packagePart)
		n, err := io.ReadFull(content, part)
		if n == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return "", err
		}
		message = &raygatev2.UploadPackageRequest{Data: part[:n]}
	}
	resp, err := stream.CloseAndRecv()
	return resp.GetUri(), err
}
