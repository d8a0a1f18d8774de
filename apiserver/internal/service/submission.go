package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/dashboard"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Dashboards opens the dashboards of clusters for callers.
type Dashboards struct {
	Clusters *resource.Resource
	Proxy    *dashboardproxy.Proxy
}

// Open returns the dashboard of a cluster for a caller who may do verb, and its client. clusterField is the field of the request with the name of the
// cluster, for errors.
func (o Dashboards) Open(ctx context.Context, cluster types.NamespacedName, clusterField, verb string) (*dashboardproxy.Dashboard, dashboard.Client, error) {
	if _, err := o.Clusters.Find(ctx, cluster.Namespace, cluster.Name); err != nil {
		if bad, ok := errors.AsType[*rpcstatus.InvalidError](err); ok && bad.Violations[0].Field == "name" {
			bad.Violations[0].Field = clusterField
		}
		return nil, nil, err
	}
	d, err := o.Proxy.Open(ctx, cluster, verb)
	if err != nil {
		return nil, nil, err
	}
	c, err := d.Client()
	return d, c, err
}

// maxSubmissionID is the longest id of a submission in bytes, far above those in use.
const maxSubmissionID = 512

// CheckSubmissionID refuses an id that cannot be part of a path.
func CheckSubmissionID(field, id string) error {
	if id == "" || id == "." || id == ".." || len(id) > maxSubmissionID {
		return rpcstatus.BadField(field, "required, no more than %d bytes, and not a dot or two, which no path can hold", maxSubmissionID)
	}
	return nil
}

// CompleteSubmissionID checks the id that a client wants for a new submission, or generates one. With an id, a client can find a submission
// whose answer was lost.
func CompleteSubmissionID(field string, id *string) error {
	if *id == "" {
		*id = "raysubmit_" + rand.String(16)
	}
	return CheckSubmissionID(field, *id)
}

// Submit submits a job and returns its id. If the answer of the dashboard is lost, it looks for the id.
func Submit(ctx context.Context, c dashboard.Client, wanted dashboard.Submission) (string, error) {
	id, err := c.SubmitJob(ctx, wanted)
	if errors.Is(err, dashboard.ErrUnavailable) {
		if job, getErr := c.GetJob(ctx, wanted.SubmissionID); getErr == nil && job.Entrypoint == wanted.Entrypoint {
			return wanted.SubmissionID, nil
		}
	}
	return id, err
}

// submissionServer implements SubmissionService.
type submissionServer struct {
	raygatev2.UnsafeSubmissionServiceServer // so that a new method in the proto is a compile error here
	Dashboards
	tokens store.Tokens
	jobs   *resource.Resource
	// packages are those of RayJobs without a cluster yet; nil if the gateway keeps none.
	packages *packages.Store
}

// newSubmissionServer returns a server without tokens of pages.
func newSubmissionServer(r Resources, dashboards *dashboardproxy.Proxy) *submissionServer {
	return &submissionServer{Dashboards: Dashboards{r.of(Clusters), dashboards}, jobs: r.of(Jobs), packages: r.Packages}
}

// open returns the dashboard of a request for a caller who may do verb.
func (s *submissionServer) open(ctx context.Context, req interface {
	GetNamespace() string
	GetCluster() string
}, verb string,
) (*dashboardproxy.Dashboard, dashboard.Client, error) {
	if one, ok := req.(interface{ GetSubmissionId() string }); ok {
		if err := CheckSubmissionID("submission_id", one.GetSubmissionId()); err != nil {
			return nil, nil, err
		}
	}
	return s.Open(ctx, types.NamespacedName{Namespace: req.GetNamespace(), Name: req.GetCluster()}, "cluster", verb)
}

// CreateSubmission implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) CreateSubmission(ctx context.Context, req *raygatev2.CreateSubmissionRequest) (*raygatev2.CreateSubmissionResponse, error) {
	wanted, err := submissionToRay(req.GetSubmission())
	if err != nil {
		return nil, err
	}
	d, c, err := s.open(ctx, req, "create")
	if err != nil {
		return nil, err
	}
	if err := d.CheckReady(); err != nil {
		return nil, err
	}
	if _, err = Submit(ctx, c, wanted); err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	job, err := c.GetJob(ctx, wanted.SubmissionID)
	if err != nil { // it was accepted all the same
		job = &dashboard.Job{Type: "SUBMISSION", SubmissionID: wanted.SubmissionID, Status: dashboard.Pending, Entrypoint: wanted.Entrypoint, Metadata: wanted.Metadata, RuntimeEnv: wanted.RuntimeEnv}
	}
	return &raygatev2.CreateSubmissionResponse{Submission: submissionFromRay(job)}, nil
}

// GetSubmission implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) GetSubmission(ctx context.Context, req *raygatev2.GetSubmissionRequest) (*raygatev2.GetSubmissionResponse, error) {
	_, c, err := s.open(ctx, req, "get")
	if err != nil {
		return nil, err
	}
	job, err := c.GetJob(ctx, req.GetSubmissionId())
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	if err := flowcontrol.Hold(ctx, sizeOf(job)); err != nil {
		return nil, err
	}
	return &raygatev2.GetSubmissionResponse{Submission: submissionFromRay(job)}, nil
}

// ListSubmissions implements raygatev2.SubmissionServiceServer. Ray returns them all at once. A page begins after the last one of the
// previous page, and is shorter than requested if it would have too many bytes.
func (s *submissionServer) ListSubmissions(ctx context.Context, req *raygatev2.ListSubmissionsRequest) (*raygatev2.ListSubmissionsResponse, error) {
	size, err := resource.PageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	query := strings.Join([]string{"submissions", req.GetNamespace(), req.GetCluster()}, "\x00")
	var after *place
	if token := req.GetPageToken(); token != "" {
		if err := s.tokens.Open(token, query, &after); err != nil {
			return nil, err
		}
	}
	_, c, err := s.open(ctx, req, "get")
	if err != nil {
		return nil, err
	}
	jobs, err := c.ListJobs(ctx)
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	slices.SortFunc(jobs, func(a, b dashboard.Job) int { return placeOf(&a).compare(placeOf(&b)) })
	resp := &raygatev2.ListSubmissionsResponse{TotalSize: int32(len(jobs))}
	if after != nil {
		jobs = jobs[slices.IndexFunc(append(jobs, dashboard.Job{}), func(j dashboard.Job) bool { return j.Status == "" || placeOf(&j).compare(*after) > 0 }):]
	}
	size, bytes := pageOf(jobs[:min(size, len(jobs))])
	if err := flowcontrol.Hold(ctx, bytes); err != nil {
		return nil, err
	}
	for i := range jobs[:size] {
		resp.Submissions = append(resp.Submissions, submissionFromRay(&jobs[i]))
	}
	if len(jobs) > size {
		resp.NextPageToken = s.tokens.Seal(placeOf(&jobs[size-1]), query)
	}
	return resp, nil
}

// pageOf returns how many jobs fit on a page, of at least one, and about how many bytes they take in memory.
func pageOf(jobs []dashboard.Job) (n int, bytes int64) {
	for i := range jobs {
		size := sizeOf(&jobs[i])
		if i > 0 && bytes+size > store.MaxPageBytes {
			return i, bytes
		}
		bytes += size
	}
	return len(jobs), bytes
}

// valueSize is the approximate size of a value of a message.
const valueSize = 128

// sizeOfMessage is the approximate size of JSON as a message: a value that has two bytes of JSON takes a hundred.
func sizeOfMessage(text json.RawMessage) int64 {
	values := 0
	for _, c := range text {
		if c == ',' || c == '[' || c == '{' {
			values++
		}
	}
	return int64(len(text) + valueSize*values)
}

// sizeOf is the approximate size of a job in an answer.
func sizeOf(j *dashboard.Job) int64 {
	size := 512 + len(j.Message) + len(j.Entrypoint) + valueSize*len(j.Metadata)
	for name, text := range j.Metadata {
		size += len(name) + len(text)
	}
	return int64(size) + sizeOfMessage(j.RuntimeEnv)
}

// StopSubmission implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) StopSubmission(ctx context.Context, req *raygatev2.StopSubmissionRequest) (*raygatev2.StopSubmissionResponse, error) {
	_, c, err := s.open(ctx, req, "create")
	if err != nil {
		return nil, err
	}
	if err := stop(ctx, c, req.GetSubmissionId()); err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	job, err := c.GetJob(ctx, req.GetSubmissionId())
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	return &raygatev2.StopSubmissionResponse{Submission: submissionFromRay(job)}, nil
}

// stop requests the stop of a job that has not ended.
func stop(ctx context.Context, c dashboard.Client, id string) error {
	stopped, err := c.StopJob(ctx, id)
	if err == nil && !stopped {
		return rpcstatus.Precondition("JOB_ENDED", "there is nothing to stop: the Ray job %s has ended", id)
	}
	return err
}

// DeleteSubmission implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) DeleteSubmission(ctx context.Context, req *raygatev2.DeleteSubmissionRequest) (*raygatev2.DeleteSubmissionResponse, error) {
	_, c, err := s.open(ctx, req, "delete")
	if err != nil {
		return nil, err
	}
	if err = c.DeleteJob(ctx, req.GetSubmissionId()); err != nil {
		// For a job that is running Ray answers with an internal error.
		if job, getErr := c.GetJob(ctx, req.GetSubmissionId()); getErr == nil && !job.Status.Final() {
			err = rpcstatus.Precondition("JOB_RUNNING", "the Ray job %s is %s: stop it before you delete its record", req.GetSubmissionId(), job.Status)
		}
		return nil, dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	return &raygatev2.DeleteSubmissionResponse{}, nil
}

// GetSubmissionLogs implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) GetSubmissionLogs(req *raygatev2.GetSubmissionLogsRequest, stream grpc.ServerStreamingServer[raygatev2.GetSubmissionLogsResponse]) error {
	ctx, q := stream.Context(), logQuery{req.GetFollow(), req.TailLines, req.GetOffset()}
	if err := q.check(); err != nil {
		return err
	}
	d, _, err := s.open(ctx, req, "get")
	if err != nil {
		return err
	}
	if err := flowcontrol.Hold(ctx, logRoom); err != nil {
		return err
	}
	out := &logSender{
		send: func(data []byte, next int64) error {
			return stream.Send(&raygatev2.GetSubmissionLogsResponse{Data: data, NextOffset: next})
		},
		allowed: func() error { return s.Proxy.StillAllowed(ctx, d) },
	}
	c := reopened{open: func(ctx context.Context) (dashboard.Client, error) {
		_, c, err := s.open(ctx, req, "get")
		return c, err
	}}
	return dashboardproxy.Status(ctx, req.GetCluster(), driverLog(ctx, c, req.GetSubmissionId(), q, out))
}

// place is the position of a job in a list: the newest first.
type place struct {
	Started int64  `json:"s"` // in milliseconds since 1970
	ID      string `json:"i"`
}

func placeOf(j *dashboard.Job) place {
	return place{j.StartTime.UnixMilli(), cmp.Or(j.SubmissionID, j.JobID)}
}

func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(other.Started, p.Started), cmp.Compare(p.ID, other.ID))
}
