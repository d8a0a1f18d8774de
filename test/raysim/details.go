package raysim

import (
	"crypto/rand"
	"encoding/json"
)

// Status is the state of a job.
type Status string

// The states of a job. The last three never change.
const (
	Pending   Status = "PENDING"
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Stopped   Status = "STOPPED"
)

// Terminal reports whether a job in this state has ended.
func (s Status) Terminal() bool { return s == Succeeded || s == Failed || s == Stopped }

// The kinds of jobs, in Details.Type.
const (
	TypeSubmission = "SUBMISSION"
	TypeDriver     = "DRIVER"
)

// The values of Details.ErrorType that the simulator sets.
const (
	ErrorRuntimeEnv   = "RUNTIME_ENV_SETUP_FAILURE"
	ErrorSupervisor   = "JOB_SUPERVISOR_ACTOR_START_FAILURE"
	ErrorCommandStart = "JOB_ENTRYPOINT_COMMAND_START_ERROR"
	ErrorCommand      = "JOB_ENTRYPOINT_COMMAND_ERROR"
)

// DriverInfo describes the driver that a job has connected to Ray.
type DriverInfo struct {
	ID            string `json:"id"`
	NodeIPAddress string `json:"node_ip_address"`
	PID           string `json:"pid"`
}

// Details is the record of a job in the API. All keys are always present; unknown values are null.
type Details struct {
	Type string `json:"type"`
	// JobID is the id of the driver; nil until a driver has connected, which a process of the simulator never does.
	JobID        *string     `json:"job_id"`
	SubmissionID *string     `json:"submission_id"`
	DriverInfo   *DriverInfo `json:"driver_info"`
	Status       Status      `json:"status"`
	Entrypoint   string      `json:"entrypoint"`
	Message      *string     `json:"message"`
	ErrorType    *string     `json:"error_type"`
	// StartTime is when the job was accepted, EndTime when it ended, in milliseconds since 1970.
	StartTime              *int64            `json:"start_time"`
	EndTime                *int64            `json:"end_time"`
	Metadata               map[string]string `json:"metadata"`
	RuntimeEnv             json.RawMessage   `json:"runtime_env"`
	DriverAgentHTTPAddress *string           `json:"driver_agent_http_address"`
	DriverNodeID           *string           `json:"driver_node_id"`
	DriverExitCode         *int              `json:"driver_exit_code"`
}

// idLetters are the letters of generated submission ids, without those that are easily misread.
const idLetters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ123456789"

func newSubmissionID() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	for i, b := range random {
		random[i] = idLetters[int(b)%len(idLetters)]
	}
	return "raysubmit_" + string(random)
}
