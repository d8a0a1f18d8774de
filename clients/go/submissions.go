package raygate

import (
	"context"
	"iter"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

var submissionMethods = raygatev2.File_raygate_v2_submission_service_proto.Services().Get(0).Methods()

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
	return s.client.logs(ctx, submissionMethods.ByName("GetSubmissionLogs"), fields{"namespace": s.namespace, "cluster": s.cluster, "submission_id": id}, o)
}
