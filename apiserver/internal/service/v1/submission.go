package v1

import (
	"context"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

const (
	// stopTime is how long the deletion of a record waits for a job that is being stopped: Ray gives it some seconds to end by itself.
	stopTime     = 15 * time.Second
	stopInterval = 250 * time.Millisecond
	// logCopies is the number of copies of a log in memory: two of them are in the answer.
	logCopies = 3
)

type submissionServer struct {
	kuberay.UnsafeRayJobSubmissionServiceServer
	Options
}

// open returns a client of the dashboard of a request's cluster, which is ready, for a caller who may do verb.
func (s *submissionServer) open(ctx context.Context, req interface {
	GetNamespace() string
	GetClustername() string
}, verb string,
) (dashboard.Client, error) {
	if one, ok := req.(interface{ GetSubmissionid() string }); ok {
		if err := service.CheckSubmissionID("submissionid", one.GetSubmissionid()); err != nil {
			return nil, err
		}
	}
	o := service.Dashboards{Clusters: s.Clusters, Proxy: s.Dashboards}
	d, c, err := o.Open(ctx, types.NamespacedName{Namespace: req.GetNamespace(), Name: req.GetClustername()}, "clustername", verb)
	if err != nil {
		return nil, err
	}
	return c, d.CheckReady()
}

// SubmitRayJob implements kuberay.RayJobSubmissionServiceServer.
func (s *submissionServer) SubmitRayJob(ctx context.Context, req *kuberay.SubmitRayJobRequest) (*kuberay.SubmitRayJobReply, error) {
	wanted, err := submissionToRay(req.GetJobsubmission())
	if err != nil {
		return nil, err
	}
	c, err := s.open(ctx, req, "create")
	if err != nil {
		return nil, err
	}
	id, err := service.Submit(ctx, c, wanted)
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetClustername(), err)
	}
	return &kuberay.SubmitRayJobReply{SubmissionId: id}, nil
}

func submissionToRay(in *kuberay.RayJobSubmission) (dashboard.Submission, error) {
	path := field.NewPath("jobsubmission")
	if in == nil {
		return dashboard.Submission{}, invalid(field.ErrorList{field.Required(path, "")})
	}
	out := dashboard.Submission{
		Entrypoint: in.GetEntrypoint(), SubmissionID: in.GetSubmissionId(), Metadata: in.GetMetadata(),
		EntrypointNumCPUs: max(in.GetEntrypointNumCpus(), 0), EntrypointNumGPUs: max(in.GetEntrypointNumGpus(), 0),
	}
	if err := service.CompleteSubmissionID("jobsubmission.submissionId", &out.SubmissionID); err != nil {
		return out, err
	}
	var errs, more field.ErrorList
	out.RuntimeEnv, errs = modelv1.RuntimeEnv(in.GetRuntimeEnv(), path.Child("runtimeEnv"))
	out.EntrypointResources, more = modelv1.EntrypointResources(in.GetEntrypointResources(), path.Child("entrypointResources"))
	return out, invalid(append(errs, more...))
}

// GetJobDetails implements kuberay.RayJobSubmissionServiceServer.
func (s *submissionServer) GetJobDetails(ctx context.Context, req *kuberay.GetJobDetailsRequest) (*kuberay.JobSubmissionInfo, error) {
	c, err := s.open(ctx, req, "get")
	if err != nil {
		return nil, err
	}
	job, err := c.GetJob(ctx, req.GetSubmissionid())
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetClustername(), err)
	}
	return infoFromRay(job), nil
}

func infoFromRay(j *dashboard.Job) *kuberay.JobSubmissionInfo {
	return &kuberay.JobSubmissionInfo{
		Entrypoint: j.Entrypoint, JobId: j.JobID, SubmissionId: j.SubmissionID, Status: string(j.Status), Message: j.Message, ErrorType: j.ErrorType,
		StartTime: modelv1.Millis(j.StartTime), EndTime: modelv1.Millis(j.EndTime), Metadata: j.Metadata, RuntimeEnv: modelv1.RuntimeEnvText(j.RuntimeEnv),
	}
}

// GetJobLog implements kuberay.RayJobSubmissionServiceServer. The answer contains the whole log, so there must be room for it.
func (s *submissionServer) GetJobLog(ctx context.Context, req *kuberay.GetJobLogRequest) (*kuberay.GetJobLogReply, error) {
	c, err := s.open(ctx, req, "get")
	if err != nil {
		return nil, err
	}
	log, err := c.JobLogs(ctx, req.GetSubmissionid())
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetClustername(), err)
	}
	defer func() { _ = log.Close() }()
	var text strings.Builder
	if _, err := io.Copy(&text, flowcontrol.Counted(ctx, log, logCopies)); err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetClustername(), err)
	}
	return &kuberay.GetJobLogReply{Log: text.String()}, nil
}

// ListJobDetails implements kuberay.RayJobSubmissionServiceServer.
func (s *submissionServer) ListJobDetails(ctx context.Context, req *kuberay.ListJobDetailsRequest) (*kuberay.ListJobSubmissionInfo, error) {
	c, err := s.open(ctx, req, "get")
	if err != nil {
		return nil, err
	}
	jobs, err := c.ListJobs(ctx)
	if err != nil {
		return nil, dashboardproxy.Status(ctx, req.GetClustername(), err)
	}
	out := &kuberay.ListJobSubmissionInfo{}
	for i := range jobs {
		out.Submissions = append(out.Submissions, infoFromRay(&jobs[i]))
	}
	return out, nil
}

// StopRayJob implements kuberay.RayJobSubmissionServiceServer. That there was nothing to stop is fine.
func (s *submissionServer) StopRayJob(ctx context.Context, req *kuberay.StopRayJobSubmissionRequest) (*emptypb.Empty, error) {
	c, err := s.open(ctx, req, "create")
	if err != nil {
		return nil, err
	}
	stopped, err := c.StopJob(ctx, req.GetSubmissionid())
	if err == nil && !stopped {
		var job *dashboard.Job
		if job, err = c.GetJob(ctx, req.GetSubmissionid()); err == nil && !job.Status.Final() {
			err = rpcstatus.Precondition("JOB_RUNNING", "Ray did not stop job %s, which is %s", req.GetSubmissionid(), job.Status)
		}
	}
	return &emptypb.Empty{}, dashboardproxy.Status(ctx, req.GetClustername(), err)
}

// DeleteRayJob implements kuberay.RayJobSubmissionServiceServer. Clients delete right after they stop, and Ray deletes only the record of a job that has ended.
func (s *submissionServer) DeleteRayJob(ctx context.Context, req *kuberay.DeleteRayJobSubmissionRequest) (*emptypb.Empty, error) {
	c, err := s.open(ctx, req, "delete")
	if err != nil {
		return nil, err
	}
	job, err := s.ended(ctx, c, req.GetSubmissionid())
	if err == nil && !job.Status.Final() {
		err = rpcstatus.Precondition("JOB_RUNNING", "the Ray job %s is %s: stop it before you delete its record", job.SubmissionID, job.Status)
	}
	if err == nil {
		err = c.DeleteJob(ctx, req.GetSubmissionid())
	}
	return &emptypb.Empty{}, dashboardproxy.Status(ctx, req.GetClustername(), err)
}

// ended returns a job once it has ended, or its current state after a timeout.
func (s *submissionServer) ended(ctx context.Context, c dashboard.Client, id string) (*dashboard.Job, error) {
	for deadline := s.Clock.Now().Add(stopTime); ; {
		job, err := c.GetJob(ctx, id)
		if err != nil || job.Status.Final() || s.Clock.Now().After(deadline) {
			return job, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(stopInterval):
		}
	}
}
