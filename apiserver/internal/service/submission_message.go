package service

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/dashboard"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// submissionToRay reads a submission of a client. It ignores fields that only Ray can set.
func submissionToRay(in *raygatev2.Submission) (dashboard.Submission, error) {
	out := dashboard.Submission{
		Entrypoint: in.GetEntrypoint(), SubmissionID: in.GetSubmissionId(), Metadata: in.GetMetadata(), EntrypointNumCPUs: in.GetEntrypointNumCpus(),
		EntrypointNumGPUs: in.GetEntrypointNumGpus(), EntrypointMemory: in.GetEntrypointMemory(), EntrypointResources: in.GetEntrypointResources(),
	}
	if out.Entrypoint == "" {
		return out, rpcstatus.BadField("submission.entrypoint", "required: the shell command to run")
	}
	if err := CompleteSubmissionID("submission_id", &out.SubmissionID); err != nil {
		return out, err
	}
	if !(out.EntrypointNumCPUs >= 0) || !(out.EntrypointNumGPUs >= 0) || out.EntrypointMemory < 0 {
		return out, rpcstatus.BadField("submission", "what is reserved for the entrypoint must not be negative")
	}
	if in.RuntimeEnv != nil {
		var err error
		if out.RuntimeEnv, err = in.RuntimeEnv.MarshalJSON(); err != nil {
			return out, rpcstatus.BadField("submission.runtimeEnv", "has a number that JSON does not have")
		}
	}
	return out, nil
}

func submissionFromRay(j *dashboard.Job) *raygatev2.Submission {
	out := &raygatev2.Submission{
		SubmissionId: j.SubmissionID, Entrypoint: j.Entrypoint, Metadata: j.Metadata, JobId: j.JobID, Type: j.Type, Status: string(j.Status),
		Message: j.Message, ErrorType: j.ErrorType, StartTime: timestamp(j.StartTime), EndTime: timestamp(j.EndTime), DriverNodeId: j.DriverNodeID,
	}
	var env map[string]any
	if json.Unmarshal(j.RuntimeEnv, &env) == nil && env != nil {
		out.RuntimeEnv, _ = structpb.NewStruct(env) // of JSON it always succeeds
	}
	if j.DriverExitCode != nil {
		out.DriverExitCode = new(int32(*j.DriverExitCode))
	}
	return out
}

// timestamp has whole seconds, as all times of this API.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: t.Unix()}
}
