package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Status is the state of a job.
type Status string

// The states of a job. Those after Running are final.
const (
	Pending   Status = "PENDING"
	Running   Status = "RUNNING"
	Stopped   Status = "STOPPED"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
)

// Final reports whether Ray never changes this state again.
func (s Status) Final() bool { return s == Stopped || s == Succeeded || s == Failed }

func (s Status) known() bool { return s == Pending || s == Running || s.Final() }

// Job is a job as Ray reports it.
type Job struct {
	// SubmissionID is empty for a driver that connected by itself.
	SubmissionID string
	// JobID is Ray's own id of the driver; empty until it connects, and for entrypoints that never do.
	JobID string
	// Type is SUBMISSION or DRIVER.
	Type   string
	Status Status
	// Message describes the state; after a failure it contains the end of the log.
	Message string
	// ErrorType classifies a failure; empty with older versions of Ray.
	ErrorType  string
	Entrypoint string
	// StartTime is when Ray accepted the job and EndTime when it ended, by the clock of the head; zero if unknown.
	StartTime, EndTime time.Time
	Metadata           map[string]string
	// RuntimeEnv is a JSON object, or nil.
	RuntimeEnv json.RawMessage
	// DriverNodeID is the node that runs the driver.
	DriverNodeID string
	// DriverExitCode is nil until the driver exits, and after a stop.
	DriverExitCode *int
}

// UnmarshalJSON requires an object with a known state and is lenient about the rest. Missing fields, null and other types stay empty,
// because versions of Ray differ and the state matters most. Keys match in their exact case, so that a Status of Kubernetes is not a job.
func (j *Job) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*j = Job{}
	if err := json.Unmarshal(fields["status"], &j.Status); err != nil || !j.Status.known() {
		return fmt.Errorf("no known job status in %s", clip(string(fields["status"]), 64))
	}
	for key, text := range map[string]*string{
		"submission_id": &j.SubmissionID, "job_id": &j.JobID, "type": &j.Type, "message": &j.Message,
		"error_type": &j.ErrorType, "entrypoint": &j.Entrypoint, "driver_node_id": &j.DriverNodeID,
	} {
		lenient(fields[key], text)
	}
	lenient(fields["metadata"], &j.Metadata)
	j.StartTime, j.EndTime = milliseconds(fields["start_time"]), milliseconds(fields["end_time"])
	var env map[string]json.RawMessage
	if lenient(fields["runtime_env"], &env); env != nil {
		j.RuntimeEnv = fields["runtime_env"]
	}
	var code *float64
	if lenient(fields["driver_exit_code"], &code); code != nil && math.Abs(*code) <= math.MaxInt32 {
		j.DriverExitCode = new(int(*code))
	}
	return nil
}

// lenient leaves the target at its zero value when the text is not of its type.
func lenient[T any](data json.RawMessage, target *T) {
	var value T
	if len(data) > 0 && json.Unmarshal(data, &value) == nil {
		*target = value
	}
}

// lastTime is the last moment that Kubernetes can write down.
var lastTime = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// milliseconds reads a Unix time. Drivers that still run may have an end of 0.
func milliseconds(data json.RawMessage) time.Time {
	var ms float64
	lenient(data, &ms)
	if !(ms > 0) || ms > float64(lastTime.UnixMilli()) {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
