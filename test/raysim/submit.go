package raysim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
)

const bodyLimit = 100 << 20

// submission is the body of a request to submit, without null values.
type submission struct {
	Entrypoint   string
	SubmissionID string
	Metadata     map[string]string
	RuntimeEnv   json.RawMessage
	EnvVars      map[string]string
	WorkingDir   string
	jobID        string // the older name of SubmissionID
	// unfit is why the runtime environment is accepted and cannot be set up; nil when it can.
	unfit error
}

func (c *Cluster) submit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		plain(w, http.StatusRequestEntityTooLarge, "Maximum request body size %d exceeded", bodyLimit)
		return
	case err != nil:
		return // the client is gone
	case !json.Valid(body):
		plain(w, http.StatusInternalServerError, "Traceback: the request body is not JSON")
		return
	case !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")):
		plain(w, http.StatusInternalServerError, "500 Internal Server Error")
		return
	}
	s, err := decodeSubmission(body)
	if err != nil {
		plain(w, http.StatusBadRequest, "Traceback: TypeError: %v", err)
		return
	}
	id, err := c.accept(s)
	if err != nil {
		plain(w, http.StatusInternalServerError, "Traceback: ValueError: %v", err)
		return
	}
	writeJSON(w, map[string]string{"job_id": id, "submission_id": id})
}

// decodeSubmission refuses unknown keys and wrong types.
func decodeSubmission(body []byte) (submission, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return submission{}, errors.New("the request body must be an object")
	}
	var s submission
	for key, value := range fields {
		if bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
			continue
		}
		if err := s.set(key, value); err != nil {
			return submission{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	if s.SubmissionID == "" {
		s.SubmissionID = s.jobID
	}
	if _, ok := fields["entrypoint"]; !ok {
		return submission{}, errors.New(`missing required argument "entrypoint"`)
	}
	return s, nil
}

// set sets one key of the body.
func (s *submission) set(key string, value json.RawMessage) (err error) {
	switch key {
	case "entrypoint":
		return json.Unmarshal(value, &s.Entrypoint)
	case "submission_id":
		return json.Unmarshal(value, &s.SubmissionID)
	case "job_id":
		return json.Unmarshal(value, &s.jobID)
	case "metadata":
		s.Metadata, err = stringMap(value)
		return err
	case "runtime_env":
		return s.setRuntimeEnv(value)
	case "entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_memory":
		return checkNumber(key, value)
	case "entrypoint_resources":
		var m map[string]float64
		return json.Unmarshal(value, &m)
	case "entrypoint_label_selector":
		_, err = stringMap(value)
		return err
	}
	return errors.New("unexpected keyword argument")
}

func checkNumber(key string, value json.RawMessage) error {
	var n float64
	if err := json.Unmarshal(value, &n); err != nil {
		return err
	}
	if key == "entrypoint_memory" && n != math.Trunc(n) {
		return errors.New("must be a whole number of bytes")
	}
	return nil
}

// stringMap is stricter than decoding to a map of strings, which accepts null for "".
func stringMap(value json.RawMessage) (map[string]string, error) {
	var raw map[string]*string
	if err := json.Unmarshal(value, &raw); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for k, v := range raw {
		if v == nil {
			return nil, fmt.Errorf("value of %q must be a string", k)
		}
		out[k] = *v
	}
	return out, nil
}

func (s *submission) setRuntimeEnv(value json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return err
	}
	s.RuntimeEnv = value
	if v, ok := fields["env_vars"]; ok {
		// Ray checks the values only when it starts the job.
		if s.EnvVars, s.unfit = stringMap(v); s.unfit != nil {
			s.unfit = fmt.Errorf("env_vars: %w", s.unfit)
		}
	}
	if v, ok := fields["working_dir"]; ok {
		if err := json.Unmarshal(v, &s.WorkingDir); err != nil {
			return fmt.Errorf("working_dir: %w", err)
		}
	}
	return nil
}
