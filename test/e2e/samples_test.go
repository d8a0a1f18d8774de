package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/suite"
)

// sampleEnds says what becomes of a sample here, when that is not a cluster that is ready. There is no cert-manager, and the
// operator runs without a batch scheduler, so that those samples only show that their labels do no harm.
var sampleEnds = map[string]func(*rayv1.RayCluster) error{
	"raycluster.suspend.yaml": wantState(rayv1.ClusterStateSuspended),
	"raycluster.kueue.yaml":   wantState(rayv1.ClusterStateSuspended),
	"raycluster.mtls.yaml": func(rc *rayv1.RayCluster) error {
		for _, c := range rc.Status.Conditions {
			if strings.Contains(c.Message, "cert-manager") {
				return nil
			}
		}
		return fmt.Errorf("no condition tells that cert-manager is missing: %v", rc.Status.Conditions)
	},
}

// samplesOfEachChange are those that `make test` runs to their end.
var samplesOfEachChange = []string{"raycluster.minimal.yaml", "raycluster.kueue.yaml", "raycluster.mtls.yaml", "rayjob.hello.yaml", "rayservice.minimal.yaml"}

// jobsThatRun are the RayJobs that need nothing but a shell, so that they also run on simulated Ray. The others need Python, accelerators or a queue.
var jobsThatRun = []string{"rayjob.http-mode.yaml", "rayjob.sidecar-mode.yaml", "rayjob.retries.yaml", "rayjob.deletion-rules.yaml", "rayjob.cluster-selector.yaml"}

// Every sample passes raygate validate without errors and becomes what it says on the local cluster.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../samples/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("finding samples: %v, %d found", err, len(files))
	}
	args := []string{"validate", "--feature-gates", sampleGates}
	for _, path := range files {
		args = append(args, "-f", path)
	}
	if out, _, code := command(t, nil, "raygate", args...); code != 0 {
		t.Errorf("raygate validate: exit code %d\n%s", code, out)
	}
	for _, path := range files {
		file := filepath.Base(path)
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(samplesOfEachChange, file) {
				suite.All(t, "runs the sample to its end")
			}
			manifest, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if file == "rayjob.hello.yaml" {
				helloRuns(t, manifest)
				return
			}
			if file == "rayservice.minimal.yaml" {
				modelIsServed(t, manifest)
				return
			}
			if slices.Contains(jobsThatRun, file) {
				jobRuns(t, manifest)
				return
			}
			if strings.HasSuffix(file, ".dra.yaml") {
				claimsAreCounted(t, manifest)
				return
			}
			if strings.HasPrefix(file, "rayservice.") {
				serviceBecomesReady(t, manifest)
				return
			}
			if !strings.HasPrefix(file, "raycluster.") { // test/realray runs those that need Ray itself, test/kueue those that need a queue
				kubectl(t, manifest, "apply", "--server-side", "--dry-run=server", "-n", namespace(t), "-f", "-")
				return
			}
			var want rayv1.RayCluster
			if err := yaml.UnmarshalStrict(manifest, &want); err != nil {
				t.Fatalf("decoding: %v", err)
			}
			ns := namespace(t)
			if file == "raycluster.gcs-rocksdb.yaml" {
				makeVolume(t, ns)
			}
			kubectl(t, manifest, "apply", "--server-side", "-n", ns, "-f", "-")
			end := sampleEnds[file]
			if end == nil {
				end = wantState(rayv1.ClusterStateReady)
			}
			eventually(t, "sample "+file, func(ctx context.Context) error {
				rc := &rayv1.RayCluster{}
				if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: want.Name}, rc); err != nil {
					return err
				}
				return end(rc)
			})
		})
	}
}

// helloRuns does what README.md shows first.
func helloRuns(t *testing.T, manifest []byte) {
	t.Helper()
	ns := namespace(t)
	rest(t, "POST", jobsOf(ns), "application/yaml", manifest).want(t, 201)
	rest(t, "GET", jobsOf(ns)+"/hello:wait?for=complete&timeout=150s", "", nil).want(t, 200)
	got := string(rest(t, "GET", jobsOf(ns)+"/hello/logs?follow=true", "", nil).want(t, 200).body)
	if want := "hello 1 from Ray\nhello 2 from Ray\nhello 3 from Ray\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	awaitEnd(t, ns, "hello", rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded, "")
}

// jobRuns applies a RayJob, and the cluster that it selects, and waits until it has succeeded.
func jobRuns(t *testing.T, manifest []byte) {
	t.Helper()
	var job rayv1.RayJob
	if err := yaml.UnmarshalStrict(manifest, &job); err != nil {
		t.Fatalf("decoding: %v", err)
	}
	ns := namespace(t)
	if name := job.Spec.ClusterSelector[rayv1.LabelCluster]; name != "" {
		kubectl(t, nil, "apply", "--server-side", "-n", ns, "-f", "../../samples/raycluster."+name+".yaml")
	}
	kubectl(t, manifest, "apply", "--server-side", "-n", ns, "-f", "-")
	awaitEnd(t, ns, job.Name, rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded, "")
}

// serviceBecomesReady applies a RayService and waits until its applications serve requests. There is no Kueue, and no Gateway API.
func serviceBecomesReady(t *testing.T, manifest []byte) {
	t.Helper()
	var service rayv1.RayService
	if err := yaml.UnmarshalStrict(manifest, &service); err != nil {
		t.Fatalf("decoding: %v", err)
	}
	ns := namespace(t)
	kubectl(t, manifest, "apply", "--server-side", "-n", ns, "-f", "-")
	rest(t, "GET", servicesOf(ns)+"/"+service.Name+":wait?for=ready&timeout=150s", "", nil).want(t, 200)
}

// modelIsServed does what README.md shows next.
func modelIsServed(t *testing.T, manifest []byte) {
	t.Helper()
	ns := namespace(t)
	rest(t, "POST", servicesOf(ns), "application/yaml", manifest).want(t, 201)
	rest(t, "GET", servicesOf(ns)+"/minimal:wait?for=ready&timeout=150s", "", nil).want(t, 200)
	path := "/api/v1/namespaces/" + ns + "/services/minimal-serve-svc:serve/proxy/"
	answer := func(context.Context) error { // the API server's proxy reads Endpoints, which another controller writes than the slices of the operator
		if stdout, stderr, _ := command(t, nil, "k8s/kubectl", "get", "--raw", path); !strings.Contains(stdout, `"application":"hello"`) {
			return fmt.Errorf("answer %s%s", stdout, stderr)
		}
		return nil
	}
	eventually(t, "an answer", answer)
	kubectl(t, nil, "patch", "rayservice", "minimal", "-n", ns, "--type=json", "-p",
		`[{"op": "replace", "path": "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/image", "value": "rayproject/ray:2.60.0-py312"}]`)
	rest(t, "GET", servicesOf(ns)+"/minimal:wait?for=ready&timeout=150s", "", nil).want(t, 200)
	eventually(t, "an answer during the upgrade", answer)
}

func wantState(state rayv1.ClusterState) func(*rayv1.RayCluster) error {
	return func(rc *rayv1.RayCluster) error {
		if rc.Status.State != state {
			return fmt.Errorf("state %q, want %q; reason %q, conditions %v", rc.Status.State, state, rc.Status.Reason, rc.Status.Conditions)
		}
		return nil
	}
}

// makeVolume provides what a storage provisioner would.
func makeVolume(t *testing.T, name string) {
	t.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + name}},
	}}
	if err := product.client.Create(t.Context(), volume); err != nil {
		t.Fatalf("making a volume: %v", err)
	}
	t.Cleanup(func() { _ = product.client.Delete(context.Background(), volume) })
}
