package history

import (
	"encoding/json"
	"iter"
	"time"
)

// Key identifies a record.
type Key struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Created is the creation of the object.
	Created time.Time `json:"created"`
	// Attempt is the number of the attempt of a RayJob, from 1; 0 for other kinds.
	Attempt int `json:"attempt,omitempty"`
	// Started is the start of the attempt. It distinguishes two runs of one attempt, such as before and after a suspension. Zero for
	// other kinds, and for a RayJob that never started.
	Started time.Time `json:"started,omitzero"`
}

// Summary is the part of a record that listings return.
type Summary struct {
	Key
	// Ended is the end of the attempt, or the deletion of the object.
	Ended time.Time `json:"ended"`
	// Result is the state at the end: that of the Ray job or, if Ray reported none, that of the object.
	Result string `json:"result,omitempty"`
	// Reason and Message explain the result. Message is short.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// JobID is the id of the Ray job, and Cluster the name of its RayCluster.
	JobID   string `json:"jobId,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Queue is the queue of Kueue; empty for none.
	Queue string `json:"queue,omitempty"`
	// Owner is the user for whom the object was made, as its label or annotation says; empty for none.
	Owner string `json:"owner,omitempty"`
	// Usage is that of the Pods of the RayCluster: until its deletion or, for a RayJob, until the end of the attempt. Nil for a RayJob
	// without a cluster of its own, for a RayService, and if nothing was counted.
	Usage Months `json:"usage,omitempty"`
	// HasLog means that the record has a log, of LogBytes bytes.
	HasLog   bool  `json:"hasLog,omitempty"`
	LogBytes int64 `json:"logBytes,omitempty"`
	// HasDashboard means that the record has answers of the dashboard.
	HasDashboard bool `json:"hasDashboard,omitempty"`
	// Lost describes what the record lacks, one sentence each.
	Lost []string `json:"lost,omitempty"`
}

// Record is everything that is kept but the logs.
type Record struct {
	Summary
	// Object is the object at its end, as the API server had it.
	Object json.RawMessage `json:"object,omitempty"`
	// RayCluster is the cluster of a RayJob.
	RayCluster json.RawMessage `json:"rayCluster,omitempty"`
	// Events are those of the object, its cluster and its Pods, from the oldest to the newest.
	Events []json.RawMessage `json:"events,omitempty"`
	// Pods have their metadata, the names and resources of their containers, and their status.
	Pods []json.RawMessage `json:"pods,omitempty"`
	// RayJob is the record that Ray had of the job.
	RayJob json.RawMessage `json:"rayJob,omitempty"`
	// NodeLogs are the logs of Ray's nodes, whose texts are kept apart.
	NodeLogs []NodeLog `json:"nodeLogs,omitempty"`
	// Answers are kept apart: Get does not return them.
	Answers Answers `json:"-"`
	// Nodes yields the logs of nodes with their texts to Put, which sets NodeLogs. Nil means that there are none.
	Nodes iter.Seq2[NodeLog, []byte] `json:"-"`
}

// lose notes something that is missing.
func (s *Summary) lose(what string) { s.Lost = append(s.Lost, what) }

// Limits bounds the parts of a record, and the time for requests. The zero value has the defaults.
type Limits struct {
	// Log is the largest size of a log in bytes. 0 means 256 MiB.
	Log int64
	// Record is the largest size of a record without logs and answers in bytes. 0 means 4 MiB.
	Record int64
	// Wait is how long a request waits for the store; see NewBucket. 0 means 30 seconds.
	Wait time.Duration
}

const (
	defaultLog    = 256 << 20
	defaultRecord = 4 << 20
	defaultWait   = 30 * time.Second
)

func (l Limits) orDefault() Limits {
	if l.Log <= 0 {
		l.Log = defaultLog
	}
	if l.Record <= 0 {
		l.Record = defaultRecord
	}
	return l
}

// fit removes parts of the record until it is small enough, and returns its JSON. Parts that explain most are kept longest.
func (l Limits) fit(r *Record) ([]byte, error) {
	for _, part := range []struct {
		name string
		drop func() bool // reports whether there was something to drop
	}{
		{"", nil},
		{"the older half of the events is missing: the record was too large", func() bool {
			r.Events = r.Events[len(r.Events)/2:]
			return len(r.Events) > 0
		}},
		{"the Pods are missing: the record was too large", func() bool { return drop(&r.Pods) }},
		{"the logs of nodes are missing: the record was too large", func() bool { return drop(&r.NodeLogs) }},
		{"the RayCluster is missing: the record was too large", func() bool { return drop(&r.RayCluster) }},
		{"the events are missing: the record was too large", func() bool { return drop(&r.Events) }},
		{"the job details of Ray are missing: the record was too large", func() bool { return drop(&r.RayJob) }},
		{"the object is missing: the record was too large", func() bool { return drop(&r.Object) }},
	} {
		if part.drop != nil && part.drop() {
			r.lose(part.name)
		}
		text, err := json.Marshal(r)
		if err != nil || int64(len(text)) <= l.Record {
			return text, err
		}
	}
	r.Message, r.Reason = "", ""
	return json.Marshal(r)
}

func drop[S ~[]E, E any](part *S) bool {
	had := len(*part) > 0
	*part = nil
	return had
}
