package dashboard

import (
	"context"
	"encoding/json"
	"io"
)

// Client calls the dashboard of one Ray cluster. Errors are of type *Error and match one of the sentinels of this package. The id of a job
// is its submission id or, where Ray has one, its driver job id. All methods are safe for concurrent use.
type Client interface {
	// Version returns the versions of Ray and of its job API.
	Version(ctx context.Context) (Version, error)
	// ListJobs returns all jobs that Ray has a record of, including those that ended long ago.
	ListJobs(ctx context.Context) ([]Job, error)
	// GetJob returns one job. ErrNotFound means that Ray itself has no record of the id.
	GetJob(ctx context.Context, id string) (*Job, error)
	// SubmitJob submits a job to Ray and returns its submission id. Ray accepts the job before it starts it. After an error that matches
	// ErrUnavailable, Ray may have accepted the job: look for the id before submitting again. ErrDuplicate means that an earlier submission
	// with this id was accepted.
	SubmitJob(ctx context.Context, s Submission) (string, error)
	// StopJob requests the stop of a job without waiting for its end. It reports whether there was something to stop.
	StopJob(ctx context.Context, id string) (bool, error)
	// DeleteJob deletes the record of a job that ended.
	DeleteJob(ctx context.Context, id string) error
	// JobLogs returns the output of the driver so far, or the last part of it. The caller must close it. The context covers the call and
	// the reads.
	JobLogs(ctx context.Context, id string) (*Log, error)
	// TailJobLogs streams the output of the driver from the beginning. Read returns io.EOF when Ray closes the stream normally. That does
	// not mean that the job has ended; use GetJob for its state. The context covers the stream.
	TailJobLogs(ctx context.Context, id string) (io.ReadCloser, error)

	// HasPackage reports whether Ray has a package of files, and keeps Ray from dropping it for a while.
	HasPackage(ctx context.Context, name string) (bool, error)
	// PutPackage stores a package of size bytes in Ray. The context covers the transfer.
	PutPackage(ctx context.Context, name string, size int64, content io.Reader) error

	// Activity returns whether the cluster is in use. An error means that this is not known.
	Activity(ctx context.Context) (Activity, error)

	// Answer returns the JSON with which the dashboard answers a page of its own. target is a path without the first slash, with its query.
	// ErrTooLarge means that it has more than limit bytes, or too many values.
	Answer(ctx context.Context, target string, limit int64) (json.RawMessage, error)
	// NodeLog returns the last lines of a log file of a node, which Ray identifies by an id; -1 for all lines. The caller must close it. The
	// context covers the call and the reads.
	NodeLog(ctx context.Context, node, file string, lines int) (io.ReadCloser, error)

	// ServeDetails returns the state of Ray Serve, with the applications that were deployed by DeployServe or the like and not
	// from within Ray. Serve that does not run has none.
	ServeDetails(ctx context.Context) (*ServeDetails, error)
	// DeployServe hands Ray Serve a configuration, a JSON object, which replaces the one before: applications that are not in it
	// are deleted. Ray accepts it before it carries it out. After an error that matches ErrUnavailable it may have accepted it all
	// the same; to repeat the request does no harm.
	DeployServe(ctx context.Context, config json.RawMessage) error
}

// Submission is a job to submit. Only Entrypoint is required. Empty fields are not sent, because Ray refuses unknown keys.
type Submission struct {
	// Entrypoint is the shell command that runs on the node of the driver.
	Entrypoint string `json:"entrypoint"`
	// SubmissionID is the id of the job. Empty lets Ray choose one.
	SubmissionID string `json:"submission_id,omitempty"`
	// Metadata is kept with the job.
	Metadata map[string]string `json:"metadata,omitempty"`
	// RuntimeEnv is a JSON object.
	RuntimeEnv json.RawMessage `json:"runtime_env,omitempty"`
	// EntrypointNumCPUs and EntrypointNumGPUs are reserved for the entrypoint. Zero for both, and no resources, pins it to
	// the head node.
	EntrypointNumCPUs float32 `json:"entrypoint_num_cpus,omitempty"`
	EntrypointNumGPUs float32 `json:"entrypoint_num_gpus,omitempty"`
	// EntrypointMemory is reserved for the entrypoint, in bytes.
	EntrypointMemory int64 `json:"entrypoint_memory,omitempty"`
	// EntrypointResources are other logical resources.
	EntrypointResources map[string]float64 `json:"entrypoint_resources,omitempty"`
}

// Version is the version of a dashboard. Unknown parts are empty.
type Version struct {
	// API is the version of the job API, a small number as text.
	API string
	// Ray and Commit identify the running build of Ray.
	Ray, Commit string
	// Session is the name of the session. It changes when the head restarts.
	Session string
}
