package raysim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// logLimit is how much of a log one answer carries; the end of a longer one is given.
const logLimit = 16 << 20

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // fails only when the client is gone
}

// find finds a job by its id: of a driver first, then of a submission. The caller holds c.mu.
func (c *Cluster) find(id string) *job {
	for _, j := range c.order {
		if j.details.JobID != nil && *j.details.JobID == id {
			return j
		}
	}
	for _, j := range c.order {
		if j.details.SubmissionID != nil && *j.details.SubmissionID == id {
			return j
		}
	}
	return nil
}

// named returns the job of the path, or answers 404.
func (c *Cluster) named(w http.ResponseWriter, r *http.Request) *job {
	id := r.PathValue("id")
	c.mu.Lock()
	j := c.find(id)
	c.mu.Unlock()
	if j == nil {
		plain(w, http.StatusNotFound, "Job %s does not exist", id)
	}
	return j
}

// submitted is named for requests that only work with submissions.
func (c *Cluster) submitted(w http.ResponseWriter, r *http.Request, verb string) *job {
	j := c.named(w, r)
	if j != nil && j.snapshot().Type != TypeSubmission {
		plain(w, http.StatusBadRequest, "Can only %s submission type jobs", verb)
		return nil
	}
	return j
}

func (c *Cluster) get(w http.ResponseWriter, r *http.Request) {
	if j := c.named(w, r); j != nil {
		writeJSON(w, j.snapshot())
	}
}

// list returns submissions first, then drivers that were not submitted.
func (c *Cluster) list(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	out := make([]Details, 0, len(c.order))
	for _, kind := range []string{TypeSubmission, TypeDriver} {
		for _, j := range c.order {
			if j.details.Type == kind {
				out = append(out, j.details)
			}
		}
	}
	c.mu.Unlock()
	writeJSON(w, out)
}

func (c *Cluster) stop(w http.ResponseWriter, r *http.Request) {
	if j := c.submitted(w, r, "stop"); j != nil {
		writeJSON(w, map[string]bool{"stopped": j.requestStop()})
	}
}

func (c *Cluster) remove(w http.ResponseWriter, r *http.Request) {
	j := c.submitted(w, r, "delete")
	if j == nil {
		return
	}
	c.mu.Lock()
	status := j.details.Status
	if status.Terminal() {
		c.drop(j)
	}
	c.mu.Unlock()
	if !status.Terminal() {
		plain(w, http.StatusInternalServerError, "Traceback: RuntimeError: the job is in state %s; only a job that has ended can be deleted", status)
		return
	}
	writeJSON(w, map[string]bool{"deleted": true})
}

func (c *Cluster) logs(w http.ResponseWriter, r *http.Request) {
	j := c.submitted(w, r, "get logs of")
	if j == nil {
		return
	}
	text, cut, err := j.readLog(logLimit)
	if err != nil {
		plain(w, http.StatusInternalServerError, "Traceback: %v", err)
		return
	}
	if cut {
		text = fmt.Sprintf("[The log is longer than %d bytes: this is its end.]\n%s", logLimit, text)
	}
	writeJSON(w, map[string]string{"logs": strings.ToValidUTF8(text, "\uFFFD")})
}
