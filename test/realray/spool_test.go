package realray

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// waits is a program that says when it begins and when it ends, and ends when a file exists.
const waits = `python -c "import os, time
print('it begins', flush=True)
while not os.path.exists('/tmp/end'): time.sleep(1)
print('it ends', flush=True)"`

// The log of a job is in the store while the job runs, and whole and once in the record when the cluster is gone.
func TestLogIsStoredWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	gateway := startPastGateway(t)
	w := newWorld(t)
	w.job("demo", rayv1.HTTPMode, waits, func(j *rayv1.RayJob) { j.Spec.ShutdownAfterJobFinishes = true })
	j := w.awaitJob("demo", "runs", func(st *rayv1.RayJobStatus) bool { return st.JobStatus == rayv1.JobStatusRunning })
	w.eventually("the log is in the store", func(context.Context) error {
		if text, err := stored(filepath.Join(product.dir, "history"), w.ns); !strings.Contains(text, "it begins\n") {
			return errors.Join(err, fs.ErrNotExist)
		}
		return nil
	})
	if out, err := w.exec(w.head(j.Status.RayClusterName).Name, "touch", "/tmp/end"); err != nil {
		t.Fatalf("ending the program: %v: %s", err, out)
	}
	w.jobEnds("demo")
	w.clustersGone()
	r, err := send(t.Context(), http.MethodGet, gateway+"/apis/v2/namespaces/"+w.ns+"/jobs/demo/logs", nil)
	log := string(r.body)
	if err != nil || r.code != http.StatusOK || !strings.Contains(log, "it ends\n") || strings.Count(log, "it begins\n") != 1 {
		t.Errorf("HTTP %d, %v, log %q", r.code, err, log)
	}
}

// stored returns what the store of a folder holds of logs that are being written in a namespace.
func stored(folder, namespace string) (text string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "/running/") || !strings.Contains(path, namespace) {
			return err
		}
		part, err := os.ReadFile(path)
		text += string(part)
		return err
	})
	return text, err
}
