package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
)

const callSubmit = "SubmitJob"

// Version implements Client.
func (c *HTTPClient) Version(ctx context.Context) (Version, error) {
	var answer map[string]json.RawMessage
	err := c.do(ctx, call{
		name: "Version", method: http.MethodGet, path: "/api/version", timeout: c.config.ReadTimeout, limit: c.config.MaxJob,
	}, &answer)
	if err != nil {
		return Version{}, err
	}
	var v Version
	lenient(answer["version"], &v.API)
	lenient(answer["ray_version"], &v.Ray)
	lenient(answer["ray_commit"], &v.Commit)
	lenient(answer["session_name"], &v.Session)
	if v.API == "" && v.Ray == "" {
		return Version{}, &Error{Call: "Version", Kind: ErrMalformed, Code: http.StatusOK, Message: "no version in it"}
	}
	return v, nil
}

// ListJobs implements Client. Entries that are not jobs are left out, so that they do not hide the others.
func (c *HTTPClient) ListJobs(ctx context.Context) ([]Job, error) {
	var jobs []Job
	err := c.do(ctx, call{
		name: "ListJobs", method: http.MethodGet, collection: true, timeout: c.config.ReadTimeout, limit: c.config.MaxList,
	}, &jobs)
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// GetJob implements Client.
func (c *HTTPClient) GetJob(ctx context.Context, id string) (*Job, error) {
	job := &Job{}
	err := c.do(ctx, call{
		name: "GetJob", method: http.MethodGet, id: id, timeout: c.config.ReadTimeout, limit: c.config.MaxJob,
	}, job)
	if err == nil && job.Status == "" { // JSON null does not reach UnmarshalJSON
		err = &Error{Call: "GetJob", Kind: ErrMalformed, Code: http.StatusOK, Message: "no job"}
	}
	if err != nil {
		return nil, err
	}
	return job, nil
}

// SubmitJob implements Client.
func (c *HTTPClient) SubmitJob(ctx context.Context, s Submission) (string, error) {
	var answer map[string]json.RawMessage
	err := c.do(ctx, call{
		name: callSubmit, method: http.MethodPost, collection: true, body: s, timeout: c.config.SubmitTimeout, limit: c.config.MaxJob,
	}, &answer)
	if err != nil {
		return "", err
	}
	var id string
	if lenient(answer["submission_id"], &id); id == "" {
		lenient(answer["job_id"], &id) // older versions have no other
	}
	if id == "" {
		return "", &Error{Call: callSubmit, Kind: ErrMalformed, Code: http.StatusOK, Message: "no submission id in it"}
	}
	return id, nil
}

// StopJob implements Client.
func (c *HTTPClient) StopJob(ctx context.Context, id string) (bool, error) {
	var answer struct {
		Stopped *bool `json:"stopped"`
	}
	err := c.do(ctx, call{
		name: "StopJob", method: http.MethodPost, id: id, below: "/stop", timeout: c.config.SubmitTimeout, limit: c.config.MaxJob,
	}, &answer)
	if err == nil && answer.Stopped == nil {
		err = &Error{Call: "StopJob", Kind: ErrMalformed, Code: http.StatusOK, Message: "it does not say whether the job was stopped"}
	}
	return err == nil && *answer.Stopped, err
}

// DeleteJob implements Client.
func (c *HTTPClient) DeleteJob(ctx context.Context, id string) error {
	var answer struct {
		Deleted *bool `json:"deleted"`
	}
	err := c.do(ctx, call{
		name: "DeleteJob", method: http.MethodDelete, id: id, timeout: c.config.ReadTimeout, limit: c.config.MaxJob,
	}, &answer)
	if err == nil && (answer.Deleted == nil || !*answer.Deleted) {
		err = &Error{Call: "DeleteJob", Kind: ErrMalformed, Code: http.StatusOK, Message: "it does not say that the job was deleted"}
	}
	return err
}
