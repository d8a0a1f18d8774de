package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	_ "gocloud.dev/blob/fileblob" // file://
	_ "gocloud.dev/blob/s3blob"   // s3://
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/s3server"
	"github.com/raygate/raygate/pkg/history"
)

const (
	historyJobs = 1000
	historyLog  = 10_000
	// historyWriters is how many records the operator writes at once.
	historyWriters = 8
	// askedJobs is the number of jobs on simulated Ray, for requests to dashboards.
	askedJobs = 20
	// longLog is the size of the log that the gateway sends.
	longLog = 100 << 20
)

// past measures what records of ended jobs cost in a folder and in S3, and the memory of the gateway while it sends a long log.
func past(ctx context.Context, s *session) error {
	folder := "file://" + filepath.Join(s.dir, "history")
	if err := s.putRecords(ctx, "a folder", folder); err != nil {
		return err
	}
	dir, requests := filepath.Join(s.dir, "s3"), filepath.Join(s.dir, "requests.log")
	if err := os.MkdirAll(filepath.Join(dir, "buckets", "history"), 0o700); err != nil {
		return fmt.Errorf("making a bucket: %w", err)
	}
	server, err := s3server.New(dir)
	if err != nil {
		return err
	}
	server.Args = append(server.Args, "-access-log", requests)
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Stop()
	if err := s.putRecords(ctx, "S3", s3server.At(server.Endpoint, "history")); err != nil {
		return err
	}
	if err := s.countRequests(requests); err != nil {
		return err
	}
	if err := s.sendLongLog(ctx, folder); err != nil {
		return err
	}
	return s.countAsked(ctx, "--history-store="+folder)
}

// putRecords stores the records of historyJobs jobs as the operator does.
func (s *session) putRecords(ctx context.Context, where, address string) error {
	s.logf("storing %d records in %s", historyJobs, where)
	store, err := history.Open(ctx, address, history.Limits{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	log := strings.Repeat("a line of the log\n", historyLog/18)
	peak := watchHeap()
	begin := time.Now()
	group, work := errgroup.WithContext(ctx)
	group.SetLimit(historyWriters)
	for i := range historyJobs {
		group.Go(func() error {
			r, err := jobRecord(benchJob("bench", i, false), begin)
			if err != nil {
				return err
			}
			if there, err := store.Has(work, r.Key); err != nil || there {
				return errors.Join(err, fmt.Errorf("there is a record of %s: %t", r.Name, there))
			}
			_, err = store.Put(work, r, strings.NewReader(log))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("storing records in %s: %w", where, err)
	}
	took, heap := time.Since(begin).Seconds(), peak()
	kept, err := store.Sweep(ctx, "bench", begin, history.Retention{})
	if err != nil || kept.Kept != historyJobs {
		return errors.Join(err, fmt.Errorf("%s has %d records, want %d", where, kept.Kept, historyJobs))
	}
	what := fmt.Sprintf("history of %d jobs with logs of 10 KB in %s: ", historyJobs, where)
	s.add(what+"jobs per minute", "", []float64{historyJobs / took * 60}, nil, nil)
	s.add(what+"bytes per job", "KiB", []float64{float64(kept.Bytes) / historyJobs / 1024}, nil, nil)
	s.add(what+"memory of the writers at most", "MiB", []float64{heap}, nil, nil)
	return nil
}

// jobRecord is the record of a job that has ended, with ten events.
func jobRecord(j *rayv1.RayJob, ended time.Time) (*history.Record, error) {
	object, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encoding a RayJob: %w", err)
	}
	r := &history.Record{Object: object, RayCluster: object}
	r.Kind, r.Namespace, r.Name, r.UID = "RayJob", j.Namespace, j.Name, string(j.UID)
	if r.UID == "" {
		r.UID = "uid-" + j.Name
	}
	r.Attempt, r.Started, r.Ended, r.Result = 1, ended, ended, "SUCCEEDED"
	r.JobID, r.Cluster = j.Status.JobId, j.Status.RayClusterName
	for range 10 {
		r.Events = append(r.Events, json.RawMessage(`{"reason":"Test","message":"`+strings.Repeat("x", 400)+`"}`))
	}
	return r, nil
}

// watchHeap returns a function that ends the watch, and returns the largest heap above the one at the begin in MiB.
func watchHeap() func() float64 {
	runtime.GC()
	heap := func() float64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return float64(sample[0].Value.Uint64()) / (1 << 20)
	}
	return watchMost(heap)
}

// watchMost samples a figure, and returns a function that ends this and returns by how much it was larger than at the begin.
func watchMost(figure func() float64) func() float64 {
	before := figure()
	most, stop, done := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				most = max(most, figure())
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-done
		return most - before
	}
}

// countRequests reports the requests of the access log of the S3 server, by kind.
func (s *session) countRequests(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the requests: %w", err)
	}
	rest := strings.Count(string(text), " s3_")
	for _, kind := range []string{"HeadObject", "PutObject"} {
		n := strings.Count(string(text), " s3_"+kind+" ")
		rest -= n
		s.add("the same: requests "+kind+" per job", "", []float64{float64(n) / historyJobs}, nil, nil)
	}
	s.add("the same: other requests per job", "", []float64{float64(rest) / historyJobs}, nil, nil)
	return nil
}

// countAsked runs jobs with and without a history, and reports how many requests of the operator the dashboard of a job gets.
func (s *session) countAsked(ctx context.Context, store string) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	proxy, err := newCountingProxy(s.config)
	if err != nil {
		return err
	}
	defer proxy.close()
	for _, option := range []struct {
		what  string
		flags []string
	}{{"without a history", nil}, {"with a history", []string{store}}} {
		s.logf("running %d jobs %s", askedJobs, option.what)
		operator, err := s.startOperatorBehind(ctx, proxy, append(option.flags, "--use-kubernetes-proxy")...)
		if err != nil {
			return err
		}
		var objects []client.Object
		for i := range askedJobs {
			objects = append(objects, benchJob(namespace, i, false))
		}
		wait, err := s.whenReady(ctx, &rayv1.RayJobList{}, namespace, len(objects), jobEnded)
		if err != nil {
			return err
		}
		if _, err := s.createAndWait(ctx, objects, wait); err != nil {
			return err
		}
		if err := errors.Join(s.checkJobs(ctx, namespace), s.clearJobs(ctx, namespace)); err != nil { // deletions wait for the records
			return err
		}
		s.stop(operator)
		asked := 0
		for q, n := range proxy.reset() {
			if q.resource == "services/proxy" {
				asked += n
			}
		}
		s.add("requests to the dashboard per job "+option.what, "", []float64{float64(asked) / askedJobs}, nil, nil)
	}
	return nil
}

// sendLongLog has the gateway send the log of a job whose cluster is gone.
func (s *session) sendLongLog(ctx context.Context, address string) error {
	s.logf("sending a log of %d MiB", longLog>>20)
	store, err := history.Open(ctx, address, history.Limits{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	j := benchJob("default", 0, false)
	if err := s.client.Create(ctx, j); err != nil {
		return fmt.Errorf("creating a RayJob: %w", err)
	}
	before := j.DeepCopy()
	j.Status.JobId, j.Status.RayClusterName, j.Status.DashboardURL = "job-0-a", "job-0-b", "job-0-b-head-svc:8265"
	j.Status.JobStatus, j.Status.JobDeploymentStatus = rayv1.JobStatusSucceeded, rayv1.JobDeploymentStatusComplete
	if err := s.client.Status().Patch(ctx, j, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("ending a RayJob: %w", err)
	}
	r, err := jobRecord(j, time.Now())
	if err != nil {
		return err
	}
	if _, err := store.Put(ctx, r, io.LimitReader(endless{}, longLog)); err != nil {
		return err
	}
	ends, err := s.startGateway(ctx, side{}, "--history-store="+address)
	if err != nil {
		return err
	}
	defer ends.close()
	memory := watchMost(func() float64 {
		m, _ := ends.process.memory() // 0 once it has ended, which the request below reports
		return m
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ends.url+"/apis/v2/namespaces/default/jobs/job-0/logs", nil)
	if err != nil {
		return err
	}
	resp, err := ends.rest.Do(req)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != longLog {
		return errors.Join(err, fmt.Errorf("the log has %d bytes, status %s", n, resp.Status))
	}
	s.add("memory of the gateway for a log of 100 MiB from the history", "MiB", []float64{memory()}, nil, nil)
	return nil
}

// endless is a log of digits.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0' + byte(i%10)
	}
	return len(p), nil
}
