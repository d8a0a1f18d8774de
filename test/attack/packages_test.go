package attack

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/internal/testing/await"
)

// packageURL is where the Pods of Ray would reach the gateway.
const packageURL = "https://packages.example:8888"

// packagesOf returns the packages that the gateway keeps for a RayJob, as a tenant reaches them.
func packagesOf(t *testing.T, caller, namespace, job string) *raygate.Packages {
	t.Helper()
	c, err := raygate.Dial(raygate.Config{Address: stage.gateway.grpc, Token: raygate.StaticToken(stage.tokens[caller]), Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.JobPackages(namespace, job)
}

func makeJob(t *testing.T, team, name, workingDir string) {
	t.Helper()
	job := fmt.Sprintf(`{"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": %q}, "spec": {"entrypoint": "true", "runtimeEnvYAML": "working_dir: %s", "rayClusterSpec": {"headGroupSpec": {
		"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.60.0"}]}}}}}}`, name, workingDir)
	if got := as(t, team, "POST", "/apis/v2/namespaces/"+team+"/jobs", job); got.code != http.StatusCreated {
		t.Fatalf("making RayJob %s: %d %s", name, got.code, got.body)
	}
}

// The files of a RayJob are for that RayJob: another tenant neither reads nor replaces them, whatever they know, and the end of the RayJob ends the access of all.
func TestPackagesOfOthers(t *testing.T) {
	secret := []byte("files of team-b")
	name := fmt.Sprintf("_ray_pkg_%x.zip", sha256.Sum256(secret))
	url, err := packagesOf(t, teamB, teamB, "packed").Upload(t.Context(), name, int64(len(secret)), bytes.NewReader(secret))
	if err != nil {
		t.Fatal(err)
	}
	path, ok := strings.CutPrefix(url, packageURL)
	if !ok {
		t.Fatalf("the URL is %s", url)
	}
	fetch := func(path string) answer { return send(t, plain, "GET", stage.gateway.url+path, "") }
	refused := func(what, path string) {
		t.Helper()
		if got := fetch(path); got.code != http.StatusNotFound || strings.Contains(got.body, "files of") {
			t.Errorf("%s: %d %s", what, got.code, got.body)
		}
	}
	refused("before the RayJob exists", path)
	makeJob(t, teamB, "packed", url)
	await.True(t, "the RayJob to get its files", func() bool { got := fetch(path); return got.code == http.StatusOK && got.body == string(secret) })

	for what, try := range map[string]func() error{
		"find": func() error { _, err := packagesOf(t, teamA, teamB, "packed").Find(t.Context(), name); return err },
		"upload": func() error {
			_, err := packagesOf(t, teamA, teamB, "packed").Upload(t.Context(), name, 1, strings.NewReader("x"))
			return err
		},
	} {
		if p := raygate.ProblemOf(try()); p.Code != codes.PermissionDenied {
			t.Errorf("%s in the other namespace: %v", what, p)
		}
	}
	if got := as(t, teamA, "PUT", "/apis/v2/namespaces/"+teamB+"/packages/"+name+"?jobName=packed", string(secret)); got.code != http.StatusForbidden {
		t.Errorf("upload by REST into the other namespace: %d %s", got.code, got.body)
	}
	own := packagesOf(t, teamA, teamA, "own")
	if found, err := own.Find(t.Context(), name); found != "" || err != nil {
		t.Errorf("the package counts as one of the own namespace: %s, %v", found, err)
	}
	if _, err := own.Upload(t.Context(), name, 1, strings.NewReader("x")); raygate.ProblemOf(err).Reason != "WRONG_SUM" {
		t.Errorf("other files under the same name: %v", err)
	}
	for _, namespace := range []string{"../" + teamB, teamB + "/..", "", "*"} {
		if _, err := packagesOf(t, teamA, namespace, "own").Find(t.Context(), name); raygate.ProblemOf(err).Code != codes.InvalidArgument {
			t.Errorf("namespace %q: %v", namespace, err)
		}
	}
	for what, guess := range map[string]string{
		"the folder of the store": "/packages/" + teamB + "/" + name, "a changed URL": "/packages/A" + strings.TrimPrefix(path, "/packages/"),
		"a page of a dashboard": strings.Replace(path, "/packages/", "/dashboards/", 1), "the list": "/packages/",
	} {
		if got := fetch(guess); got.code < 400 || strings.Contains(got.body, "files of") {
			t.Errorf("%s: %d %s", what, got.code, got.body)
		}
	}

	makeJob(t, teamA, "packed", url)
	if got := as(t, teamB, "DELETE", "/apis/v2/namespaces/"+teamB+"/jobs/packed", ""); got.code != http.StatusOK {
		t.Fatalf("deleting the RayJob: %d %s", got.code, got.body)
	}
	await.True(t, "the URL to end with its RayJob", func() bool { return fetch(path).code == http.StatusNotFound })

	await.True(t, "spans", func() bool { return strings.Contains(stage.spans.String(), "/packages/{url}") })
	log, err := os.ReadFile(stage.gateway.Log)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSuffix(strings.TrimPrefix(path, "/packages/"), ".zip")
	for where, text := range map[string]string{"the spans": stage.spans.String(), "the log": string(log)} {
		if strings.Contains(text, token) {
			t.Errorf("%s have the URL", where)
		}
	}
}
