package raysim

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Intercept lets f answer requests before all other handlers; f reports whether it did. It may block until the request's context ends. nil
// ends the interception.
func (c *Cluster) Intercept(f func(w http.ResponseWriter, r *http.Request) (answered bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.intercept = f
}

// Jobs returns the records in the order of submission.
func (c *Cluster) Jobs() []Details {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Details, 0, len(c.order))
	for _, j := range c.order {
		out = append(out, j.details)
	}
	return out
}

// Update changes the record of a job directly, and reports whether the job exists. A running entrypoint keeps running; its end does not
// change a record that is terminal.
func (c *Cluster) Update(id string, change func(*Details)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.find(id)
	if j == nil {
		return false
	}
	change(&j.details)
	return true
}

// Add makes a record without an entrypoint, such as that of a driver that was not submitted. log is its log.
func (c *Cluster) Add(d Details, log string) error {
	id := newSubmissionID()
	if d.SubmissionID != nil {
		id = *d.SubmissionID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	j := &job{c: c, details: d, dir: c.newFolder(id)}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return fmt.Errorf("making folder of job: %w", err)
	}
	if err := os.WriteFile(j.logPath(), []byte(log), 0o600); err != nil {
		return fmt.Errorf("writing log of job: %w", err)
	}
	c.order = append(c.order, j)
	return nil
}

// Tails is how many log tails are open.
func (c *Cluster) Tails() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tails)
}

// CutTails breaks all open log tails without a closing handshake, which clients see as an abnormal closure.
func (c *Cluster) CutTails() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.tails {
		t.cut()
	}
}

// AppendLog writes to the log of a job by hand. It reports whether there is such a job.
func (c *Cluster) AppendLog(id string, text ...string) bool {
	c.mu.Lock()
	j := c.find(id)
	c.mu.Unlock()
	if j == nil {
		return false
	}
	f, err := os.OpenFile(j.logPath(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.WriteString(strings.Join(text, ""))
	return err == nil
}
