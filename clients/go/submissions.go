package raygate

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Submissions are the Ray jobs of a running RayCluster.
type Submissions struct {
	client             *Client
	service            raygatev2.SubmissionServiceClient
	namespace, cluster string
}

// Submissions returns the jobs of a cluster.
func (c *Client) Submissions(namespace, cluster string) *Submissions {
	return &Submissions{client: c, service: raygatev2.NewSubmissionServiceClient(c.conn), namespace: namespace, cluster: cluster}
}

// Create submits a job. It fills in an empty id, so that retries submit the job only once.
func (s *Submissions) Create(ctx context.Context, job *raygatev2.Submission) (*raygatev2.Submission, error) {
	own := job.GetSubmissionId() == ""
	if own {
		job = proto.CloneOf(job)
		job.SubmissionId = "raysubmit_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	}
	resp, err := s.service.CreateSubmission(ctx, &raygatev2.CreateSubmissionRequest{Namespace: s.namespace, Cluster: s.cluster, Submission: job})
	if own && ProblemOf(err).Code == codes.AlreadyExists { // by an attempt whose answer was lost
		return s.Get(ctx, job.GetSubmissionId())
	}
	return resp.GetSubmission(), err
}

// Get returns a job.
func (s *Submissions) Get(ctx context.Context, id string) (*raygatev2.Submission, error) {
	resp, err := s.service.GetSubmission(ctx, &raygatev2.GetSubmissionRequest{Namespace: s.namespace, Cluster: s.cluster, SubmissionId: id})
	return resp.GetSubmission(), err
}

// Stop requests the stop of a job without waiting for its end.
func (s *Submissions) Stop(ctx context.Context, id string) (*raygatev2.Submission, error) {
	resp, err := s.service.StopSubmission(ctx, &raygatev2.StopSubmissionRequest{Namespace: s.namespace, Cluster: s.cluster, SubmissionId: id})
	return resp.GetSubmission(), err
}

// Delete deletes the record of a job that has ended.
func (s *Submissions) Delete(ctx context.Context, id string) error {
	_, err := s.service.DeleteSubmission(ctx, &raygatev2.DeleteSubmissionRequest{Namespace: s.namespace, Cluster: s.cluster, SubmissionId: id})
	return err
}

// List returns the jobs, the newest first. It requests each page when it is needed. The first error ends it.
func (s *Submissions) List(ctx context.Context) iter.Seq2[*raygatev2.Submission, error] {
	return func(yield func(*raygatev2.Submission, error) bool) {
		for token := ""; ; {
			resp, err := s.service.ListSubmissions(ctx, &raygatev2.ListSubmissionsRequest{Namespace: s.namespace, Cluster: s.cluster, PageToken: token})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, job := range resp.GetSubmissions() {
				if !yield(job, nil) {
					return
				}
			}
			if token = resp.GetNextPageToken(); token == "" {
				return
			}
		}
	}
}

// Logs returns the log of a job, as JobLogs does.
func (s *Submissions) Logs(ctx context.Context, id string, o LogOptions) iter.Seq2[[]byte, error] {
	method := raygatev2.File_raygate_v2_submission_service_proto.Services().Get(0).Methods().ByName("GetSubmissionLogs")
	return s.client.logs(ctx, method, fields{"namespace": s.namespace, "cluster": s.cluster, "submission_id": id}, o)
}

// packagePart is how many bytes of a package a message has: few enough for the gateway to see progress on a slow connection.
const packagePart = 256 << 10

// FindPackage returns the URI of a package of files, for the working_dir of a runtime environment. It is empty if the cluster does not have
// the package.
func (s *Submissions) FindPackage(ctx context.Context, name string) (uri string, err error) {
	resp, err := s.service.GetPackage(ctx, &raygatev2.GetPackageRequest{Namespace: s.namespace, Cluster: s.cluster, PackageName: name})
	if ProblemOf(err).Reason == "PACKAGE_NOT_FOUND" {
		return "", nil
	}
	return resp.GetUri(), err
}

// UploadPackage stores a package of size bytes in the cluster and returns its URI. It is not repeated after an error.
func (s *Submissions) UploadPackage(ctx context.Context, name string, size int64, content io.Reader) (uri string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.service.UploadPackage(ctx)
	if err != nil {
		return "", err
	}
	message := &raygatev2.UploadPackageRequest{Namespace: s.namespace, Cluster: s.cluster, PackageName: name, Size: size}
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
