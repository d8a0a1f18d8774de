package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/test/controlplane"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// samples are one of each kind, as files of the repository.
var samples = map[string]string{
	"rayclusters": "raycluster.minimal.yaml", "rayjobs": "rayjob.minimal.yaml", "rayservices": "rayservice.minimal.yaml", "raycronjobs": "raycronjob.minimal.yaml",
}

// TestEveryVerbOnEveryKind walks one object of each kind through its life.
func TestEveryVerbOnEveryKind(t *testing.T) {
	g := startGateway(t, "none")
	for plural, file := range samples {
		t.Run(plural, func(t *testing.T) {
			ns := g.namespace(t)
			path := filepath.Join("..", "..", "samples", file)
			single := strings.TrimSuffix(plural, "s")
			raygate("create", "-f", path, "-n", ns, "--dry-run=server", "-o", "name").want(t, 0, single+".ray.io/")
			raygate("get", plural, "-n", ns).want(t, 0, "No "+plural+" found in namespace "+ns)
			created := raygate("create", "-f", path, "-n", ns).want(t, 0, " created")
			name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(created.out), single+".ray.io/"), " created")
			raygate("create", "-f", path, "-n", ns).want(t, 1, "ALREADY_EXISTS", single+"/"+name)
			short := strings.TrimPrefix(single, "ray")
			for _, args := range [][]string{{plural, name}, {single, name}, {short, name}, {short + "s/" + name}, {strings.ToUpper(single) + "/" + name}} {
				raygate(append([]string{"get", "-n", ns, "-o", "name"}, args...)...).want(t, 0, single+".ray.io/"+name)
			}
			raygate("get", short, "-n", ns, "-l", "no=such").want(t, 0, "that match")
			raygate("get", short+"s", "-A", "--filter", `metadata.namespace = "`+ns+`"`).want(t, 0, "NAMESPACE", ns, name, "AGE")
			raygate("get", "all", "-n", ns).want(t, 0, name)

			// The printed object equals the stored one and can be applied.
			stored, err := g.of(plural, ns).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			printed := raygate("get", single+"/"+name, "-n", ns, "-o", "json").want(t, 0).json(t)
			// A message cannot distinguish this zero from an absent number, and the API server fills it in again.
			unstructured.RemoveNestedField(stored.Object, "spec", "ttlSecondsAfterFinished")
			unstructured.RemoveNestedField(stored.Object, "spec", "jobTemplate", "ttlSecondsAfterFinished")
			for _, part := range []string{"spec", "apiVersion", "kind"} {
				want, got := asYAML(t, stored.Object[part]), asYAML(t, printed.Object[part])
				if want != got {
					t.Errorf("%s\n--- stored\n%s\n--- printed\n%s", part, want, got)
				}
			}
			doc := raygate("get", single+"/"+name, "-n", ns, "-o", "yaml").want(t, 0).out
			raygateWith(doc, "apply", "-f", "-", "--force-conflicts").want(t, 0, single+".ray.io/"+name+" applied")

			raygate("suspend", single+"/"+name, "-n", ns, "--dry-run").want(t, 0, "suspended (server dry run)")
			raygate("suspend", single, name, "-n", ns).want(t, 0, "suspended")
			if got := raygate("get", single, name, "-n", ns, "-o", "json").json(t); got.Object["spec"].(map[string]any)["suspend"] != true {
				t.Errorf("suspended: %v", got.Object["spec"])
			}
			raygate("resume", single, name, "-n", ns, "-o", "name").want(t, 0, single+".ray.io/"+name)
			if keep := []string{"keep", single + "/" + name, "-n", ns, "--for"}; plural == "rayclusters" {
				raygate(append(keep, "8h")...).want(t, 0, "kept")
				raygate("get", single, name, "-n", ns, "-o", "yaml").want(t, 0, "raygate.io/keep-until:")
				raygate("keep", name, "-n", ns, "--for", "0").want(t, 0, "kept")
			} else {
				raygate(append(keep, "8h")...).want(t, 2, "only clusters")
			}
			scale := []string{"scale", single + "/" + name, "-n", ns, "--replicas", "3", "--max-replicas", "7"}
			switch plural {
			case "rayclusters":
				raygate(scale...).want(t, 0, "scaled")
			case "rayservices":
				raygate(scale...).want(t, 1, "WRONG_STATE", "there are no worker groups") // the sample has none
			default:
				raygate(scale...).want(t, 2, "cannot be scaled")
			}
			raygate("diagnose", single+"/"+name, "-n", ns).want(t, 0, name)
			raygate("delete", single, name, "-n", ns, "--dry-run=server").want(t, 0, `"`+name+`" deleted (server dry run)`)
			raygate("delete", single, name, "-n", ns).want(t, 0, `"`+name+`" deleted`)
			raygate("get", single, name, "-n", ns).want(t, 1, "NOT_FOUND", "remedy:")
			raygate("delete", single, name, "-n", ns).want(t, 1, "NOT_FOUND")
			raygate("delete", single, name, "-n", ns, "--ignore-not-found").want(t, 0)
		})
	}
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestApply(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	raygateWith(manifest("demo"), "apply", "-f", "-", "-n", ns).want(t, 0, "raycluster.ray.io/demo applied")
	// A part owns no more than it says.
	part := "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: demo}\nspec: {suspend: true}\n"
	raygateWith(part, "apply", "-f", "-", "-n", ns, "--field-manager", "other").want(t, 0)
	got, err := g.of("rayclusters", ns).Get(t.Context(), "demo", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.GetManagedFields() {
		if owned := f.FieldsV1.GetRawString(); f.Manager == "other" && (strings.Contains(owned, "headGroupSpec") || !strings.Contains(owned, "f:suspend")) {
			t.Errorf("a part owns %s", owned)
		}
	}
	raygateWith(strings.Replace(part, "true", "false", 1), "apply", "-f", "-", "-n", ns, "--field-manager", "third").want(t, 1, "CONFLICT", "--force-conflicts")
	raygateWith(strings.Replace(part, "true", "false", 1), "apply", "-f", "-", "-n", ns, "--force-conflicts", "--field-manager", "third").want(t, 0)
	// Fields that are left out of the next manifest are removed.
	raygateWith(manifest("demo"), "apply", "-f", "-", "-n", ns).want(t, 0)
	raygateWith(strings.Replace(manifest("demo"), ", labels: {team: a}", "", 1), "apply", "-f", "-", "-n", ns).want(t, 0)
	if got, err := g.of("rayclusters", ns).Get(t.Context(), "demo", metav1.GetOptions{}); err != nil || len(got.GetLabels()) != 0 {
		t.Errorf("labels %v, %v", got.GetLabels(), err)
	}
	raygateWith(strings.Replace(manifest("demo"), "name: demo", "generateName: demo-", 1), "apply", "-f", "-", "-n", ns).want(t, 1, "apply needs the name")
}

func TestFilesAndNamespaces(t *testing.T) {
	g := startGateway(t, "none")
	ns, other := g.namespace(t), g.namespace(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": manifest("a") + "---\n" + manifest("b"),
		"c.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"ray.io/v1","kind":"RayCronJob","metadata":{"name":"c","namespace":"` + other + `"},"spec":{"schedule":"* * * * *","jobTemplate":{"entrypoint":"true","clusterSelector":{"ray.io/cluster":"a"}}}},{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raygate("create", "-f", dir, "-n", ns).want(t, 2, "-n says "+ns)
	raygate("create", "-f", dir).want(t, 0, "skipped, not a Ray object", "raycluster.ray.io/a created", "raycronjob.ray.io/c created")
	raygate("get", "cronjob/c", "-n", other).want(t, 0)
	raygate("delete", "-f", dir).want(t, 0, `"a" deleted`, `"b" deleted`, `"c" deleted`)
	for _, name := range []string{"a", "b"} {
		raygateWith(manifest(name), "create", "-f", "-", "-n", ns).want(t, 0)
	}
	raygateWith(strings.Replace(manifest("keep"), "team: a", "team: b", 1), "create", "-f", "-", "-n", ns).want(t, 0)
	raygate("delete", "clusters", "-n", ns).want(t, 2, "--all")
	raygate("delete", "clusters", "-l", "team=a", "-n", ns).want(t, 0, `"a" deleted`, `"b" deleted`)
	raygate("get", "clusters", "-n", ns, "-o", "name").want(t, 0, "raycluster.ray.io/keep\n")
	raygate("delete", "clusters", "--all", "-n", ns).want(t, 0, `"keep" deleted`)
	raygate("delete", "clusters", "--all", "-n", ns).want(t, 0, "Nothing to delete")
}

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	// The form is checked here, and nothing is sent.
	bad := strings.NewReplacer("rayVersion:", "rayVersoin:", "replicas: 2", "replicas: two").Replace(manifest("bad"))
	raygateWith(manifest("good")+"---\n"+bad, "create", "-f", "-", "-n", ns).want(t, 2, "spec.rayVersoin:", "rayVersion", "spec.workerGroupSpecs[0].replicas:")
	raygate("get", "clusters", "-n", ns).want(t, 0, "No rayclusters found")
	// Rules are the gateway's.
	bad = strings.NewReplacer("minReplicas: 0", "minReplicas: 20", "name: ray-head,", "name: ray-head, ports: [{containerPort: 70000}],").Replace(manifest("bad"))
	r := raygateWith(bad, "create", "-f", "-", "-n", ns).want(t, 1, "problems", "spec.workerGroupSpecs[0].minReplicas", "[RC-")
	if strings.Contains(r.errOut, "rpc error") {
		t.Errorf("the transport is not a user's business:\n%s", r.errOut)
	}
}

func TestNonsense(t *testing.T) {
	startGateway(t, "none")
	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"no type":                {[]string{"get"}, 2, "rayclusters, rayjobs"},
		"unknown type":           {[]string{"get", "pods"}, 2, `unknown type "pods"`},
		"type and pair":          {[]string{"get", "cluster", "a/b"}, 2, "TYPE/NAME"},
		"empty name":             {[]string{"get", "cluster/"}, 2, "TYPE/NAME"},
		"impossible name":        {[]string{"get", "cluster", "A_B"}, 1, "name: "},
		"bad namespace":          {[]string{"get", "clusters", "-n", "A B"}, 2, "not a namespace"},
		"bad selector":           {[]string{"get", "clusters", "-l", "a in"}, 1, "label_selector"},
		"bad filter":             {[]string{"get", "clusters", "--filter", "state =="}, 1, "filter"},
		"bad order":              {[]string{"get", "clusters", "--order-by", "moon"}, 1, "order_by"},
		"bad output":             {[]string{"get", "clusters", "-o", "xml"}, 2, "unknown output"},
		"name and selector":      {[]string{"get", "cluster/a", "-l", "a=b"}, 2, "named"},
		"no file":                {[]string{"create"}, 2, "-f"},
		"missing file":           {[]string{"apply", "-f", "/no/such"}, 2, "/no/such"},
		"empty file":             {[]string{"apply", "-f", "/dev/null"}, 2, "no Ray object"},
		"client dry run":         {[]string{"apply", "-f", "/dev/null", "--dry-run=client"}, 2, "raygate validate"},
		"wait and dry run":       {[]string{"apply", "-f", "/dev/null", "--dry-run", "--wait"}, 2, "exclude each other"},
		"scale by nothing":       {[]string{"scale", "cluster/a"}, 2, "--replicas"},
		"scale a missing one":    {[]string{"scale", "cluster/a", "--replicas", "1"}, 1, "NOT_FOUND"},
		"wait without a name":    {[]string{"wait", "clusters"}, 2, "name the object"},
		"wait for the moon":      {[]string{"wait", "cluster/a", "--for", "moon"}, 1, `"moon" cannot be waited for`},
		"wait backwards":         {[]string{"wait", "cluster/a", "--timeout", "-1s"}, 2, "negative"},
		"cron job without --for": {[]string{"wait", "cronjob/a"}, 2, "--for"},
		"wait for a missing one": {[]string{"wait", "cluster/a"}, 1, "NOT_FOUND"},
		"watch two":              {[]string{"watch", "cluster", "a", "b"}, 2, "one type"},
		"watch with bad filter":  {[]string{"watch", "clusters", "--filter", "("}, 1, "filter"},
		"diagnose two":           {[]string{"diagnose", "cluster", "a", "b"}, 2, "one object"},
		"diagnose a missing job": {[]string{"diagnose", "job/a"}, 1, "NOT_FOUND"},
		"diagnose the past":      {[]string{"diagnose", "job/a", "--attempt", "1"}, 1, "NO_HISTORY"},
		"attempt of a service":   {[]string{"diagnose", "service/a", "--attempt", "1"}, 2, "for jobs"},
		"cascade":                {[]string{"delete", "cluster/a", "--cascade", "up"}, 2, "--cascade"},
		"two tokens":             {[]string{"get", "clusters", "--token", "a", "--token-file", "b"}, 2, "exclude"},
		"missing token file":     {[]string{"get", "clusters", "--token-file", "/no/such"}, 2, "/no/such"},
		"missing kubeconfig":     {[]string{"get", "clusters", "--kubeconfig", "/no/such"}, 2, "kubeconfig"},
		"missing context":        {[]string{"get", "clusters", "--context", "nope"}, 2, "nope"},
		"token in the clear":     {[]string{"get", "clusters", "--server", "http://10.0.0.1", "--token", "secret"}, 2, "in the clear"},
		"bad server":             {[]string{"get", "clusters", "--server", "ftp://a"}, 2, "unknown scheme"},
		"TLS to no TLS":          {[]string{"get", "clusters", "--server", "https://" + os.Getenv("RAYGATE_SERVER"), "--request-timeout", "2s"}, 1, "remedy"},
		"nobody there":           {[]string{"get", "clusters", "--server", "127.0.0.1:1", "--request-timeout", "1s"}, 1, "check --server"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := raygate(tc.args...).want(t, tc.code, tc.says)
			if strings.Contains(r.out+r.errOut, "secret") || strings.Contains(r.out+r.errOut, "rpc error") {
				t.Errorf("said:\n%s%s", r.out, r.errOut)
			}
		})
	}
}

func TestWait(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	raygateWith(manifest("demo"), "create", "-f", "-", "-n", ns).want(t, 0)

	said, end := startWith("", "wait", "cluster/demo", "-n", ns, "--timeout", "1m")
	g.setStatus(t, "rayclusters", ns, "demo", map[string]any{"desiredWorkerReplicas": int64(2), "readyWorkerReplicas": int64(1)})
	said.eventually(t, "provisioning, 1/2 workers ready", 1)
	g.setStatus(t, "rayclusters", ns, "demo", map[string]any{"state": "ready", "observedGeneration": int64(1), "desiredWorkerReplicas": int64(2), "readyWorkerReplicas": int64(2)})
	end().want(t, 0, "raycluster/demo is ready")

	raygate("wait", "cluster/demo", "-n", ns, "--for", "suspended", "--timeout", "1s").want(t, 3, "WAIT_TIMEOUT", "raycluster/demo is ")

	job := "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: train}\nspec: {entrypoint: 'false', clusterSelector: {ray.io/cluster: demo}}\n"
	said, end = startWith(job, "create", "-f", "-", "-n", ns, "--wait")
	said.eventually(t, "rayjob.ray.io/train created", 1)
	g.setStatus(t, "rayjobs", ns, "train", map[string]any{"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "rayClusterName": "demo", "observedGeneration": int64(1)})
	said.eventually(t, "Running, Ray says RUNNING", 1)
	g.setStatus(t, "rayjobs", ns, "train", map[string]any{"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "reason": "AppFailed", "message": "exit code 1", "rayClusterName": "demo", "observedGeneration": int64(1)})
	end().want(t, 4, "WILL_NOT_HAPPEN", "exit code 1")

	// Deletion waits for the finalizer of somebody.
	patch := []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	if _, err := g.of("rayclusters", ns).Patch(t.Context(), "demo", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	raygate("delete", "cluster/demo", "-n", ns, "--timeout", "1s").want(t, 3, "deleted", "held by example.com/hold")
	_, end = startWith("", "wait", "cluster/demo", "-n", ns, "--for", "deleted")
	if _, err := g.of("rayclusters", ns).Patch(t.Context(), "demo", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	end().want(t, 0, "raycluster/demo is deleted")
}

// A job wakes a cluster that its annotations have suspended, but not one that a user has suspended.
func TestSubmitWakesTheCluster(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	raygateWith(manifest("demo"), "create", "-f", "-", "-n", ns).want(t, 0)
	raygate("suspend", "cluster/demo", "-n", ns).want(t, 0)
	suspended := func() bool {
		rc, err := g.of("rayclusters", ns).Get(t.Context(), "demo", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, _, _ := unstructured.NestedBool(rc.Object, "spec", "suspend")
		return found
	}
	submit := []string{"submit", "-n", ns, "--cluster", "demo", "--detach"}
	if raygate(append(submit, "--", "true")...).want(t, 125); !suspended() {
		t.Error("resumed a cluster that its user has suspended")
	}
	g.setStatus(t, "rayclusters", ns, "demo", map[string]any{"state": "suspended", "observedGeneration": int64(2), "conditions": []any{map[string]any{
		"type": "Expired", "status": "True", "reason": "IdleTimeout", "message": "idle", "lastTransitionTime": "2026-03-02T08:00:00Z"}}})
	if raygate(append(submit, "--no-wake", "--", "true")...).want(t, 125, "leave out --no-wake"); !suspended() {
		t.Error("resumed a cluster despite --no-wake")
	}
	said, end := startWith("", append(submit, "--", "true")...)
	said.eventually(t, "Resumed raycluster/demo", 1)
	if suspended() {
		t.Error("the cluster is not resumed")
	}
	g.setStatus(t, "rayclusters", ns, "demo", map[string]any{"state": "ready", "observedGeneration": int64(3)})
	end().want(t, 125, "submitting to raycluster/demo") // there is no Ray
}

// A job runs again with its spec, and without its state.
func TestRerun(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	raygate("create", "-f", filepath.Join("..", "..", "samples", samples["rayjobs"]), "-n", ns).want(t, 0)
	jobs, err := g.of("rayjobs", ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 1 {
		t.Fatalf("%v, %v", jobs, err)
	}
	old := jobs.Items[0]
	g.setStatus(t, "rayjobs", ns, old.GetName(), map[string]any{"jobId": "j", "jobStatus": "FAILED", "jobDeploymentStatus": "Failed"})
	raygate("rerun", "rayjob/"+old.GetName(), "-n", ns, "--name", "again", "--detach").want(t, 0, "rayjob/again submitted")
	again, err := g.of("rayjobs", ns).Get(t.Context(), "again", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wanted, _, _ := unstructured.NestedString(old.Object, "spec", "entrypoint")
	if got, _, _ := unstructured.NestedString(again.Object, "spec", "entrypoint"); got != wanted || again.Object["status"] != nil {
		t.Errorf("runs again as %v, want %q", again.Object, wanted)
	}
	raygate("rerun", "again", "-n", ns, "--detach").want(t, 0, "rayjob/again-")
	raygate("rerun", "cluster/demo", "-n", ns).want(t, 2)
	raygate("rerun", "nothing", "-n", ns).want(t, 125, "NOT_FOUND")
}

// TestWatch watches while the gateway is restarted, as the program that people run, which Ctrl-C ends.
func TestWatch(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	raygateWith(manifest("first"), "create", "-f", "-", "-n", ns).want(t, 0)
	var table, events syncBuffer
	watching := []*process{startRaygate(t, &table, "watch", "clusters", "-n", ns), startRaygate(t, &events, "watch", "clusters", "-n", ns, "-o", "json")}
	table.eventually(t, "first", 1)
	events.eventually(t, `"ADDED"`, 1)
	g.setStatus(t, "rayclusters", ns, "first", map[string]any{"state": "ready"})
	table.eventually(t, "MODIFIED", 1)
	g.program.Stop()
	if err := g.program.Start(); err != nil {
		t.Fatal(err)
	}
	raygateWith(manifest("second"), "create", "-f", "-", "-n", ns).want(t, 0)
	table.eventually(t, "second", 1)
	events.eventually(t, `"second"`, 1)
	raygate("delete", "cluster/first", "-n", ns).want(t, 0)
	table.eventually(t, "DELETED", 1)
	events.eventually(t, `"DELETED"`, 1)
	for _, p := range watching {
		if code := p.interrupt(t); code != 0 {
			t.Errorf("Ctrl-C ends a watch with %d", code)
		}
	}
	if !strings.Contains(table.String(), "READY WORKERS") {
		t.Errorf("a table without headers:\n%s", table.String())
	}
	for line := range strings.Lines(events.String()) {
		if !strings.HasPrefix(line, "{") {
			continue // notes on standard error
		}
		var event struct {
			Type   string
			Object struct{ Kind string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Object.Kind != "RayCluster" {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestRightsAreTheCallers(t *testing.T) {
	g := startGateway(t, "passthrough")
	ns := g.namespace(t)
	token := g.reader(t, ns)
	raygate("get", "clusters", "-n", ns).want(t, 1, "UNAUTHENTICATED", "there is no token")
	raygate("get", "clusters", "-n", ns, "--token", "nonsense").want(t, 1, "UNAUTHENTICATED")
	raygate("get", "clusters", "-n", ns, "--token", token).want(t, 0)
	raygate("get", "clusters", "-A", "--token", token).want(t, 1, "FORBIDDEN")
	t.Setenv("RAYGATE_TOKEN", token)
	raygateWith(manifest("demo"), "create", "-f", "-", "-n", ns).want(t, 1, "FORBIDDEN", "remedy: ask for a Role")
	t.Setenv("RAYGATE_TOKEN", "")

	// A kubeconfig says who calls, and where.
	data, err := os.ReadFile(g.env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	config["users"] = []any{map[string]any{"name": "reader", "user": map[string]any{"token": token}}}
	entry := config["contexts"].([]any)[0].(map[string]any)
	entry["context"].(map[string]any)["user"], entry["context"].(map[string]any)["namespace"] = "reader", ns
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(asYAML(t, config)), 0o600); err != nil {
		t.Fatal(err)
	}
	raygate("get", "clusters", "--kubeconfig", path).want(t, 0, "in namespace "+ns)
	t.Setenv("KUBECONFIG", path)
	raygate("get", "clusters").want(t, 1, "UNAUTHENTICATED", "unless --kubeconfig or --context asks for it")
	raygate("get", "clusters", "--context", entry["name"].(string)).want(t, 0, "in namespace "+ns)
}

// reader makes a ServiceAccount that may read clusters in a namespace, and returns its token.
func (g *gateway) reader(t *testing.T, ns string) string {
	t.Helper()
	ctx, meta := t.Context(), metav1.ObjectMeta{Name: "reader"}
	rule := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}}
	_, err := g.kube.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		_, err = g.kube.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = g.kube.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "reader"}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	controlplane.AwaitRule(t, g.kube.AuthorizationV1(), ns, "reader", rule)
	token, err := g.kube.CoreV1().ServiceAccounts(ns).CreateToken(ctx, "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

func TestCompletion(t *testing.T) {
	g := startGateway(t, "none")
	ns := g.namespace(t)
	for _, name := range []string{"demo-1", "demo-2", "other"} {
		raygateWith(manifest(name), "create", "-f", "-", "-n", ns).want(t, 0)
	}
	raygateWith(strings.Replace(manifest("queued"), "team: a", "kueue.x-k8s.io/queue-name: team-a", 1), "create", "-f", "-", "-n", ns).want(t, 0)
	small := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "small", Labels: map[string]string{rayv1.LabelConfigType: rayv1.ConfigTypeProfile}}, Data: map[string]string{"profile.yaml": "{}"}}
	if _, err := g.kube.CoreV1().ConfigMaps(ns).Create(t.Context(), small, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want []string
	}{
		"types":           {[]string{"get", "rayc"}, []string{"rayclusters", "raycluster", "raycronjobs", "raycronjob"}},
		"names":           {[]string{"get", "cluster", "demo"}, []string{"demo-1", "demo-2"}},
		"names not again": {[]string{"delete", "cluster", "demo-1", "demo"}, []string{"demo-2"}},
		"pairs":           {[]string{"scale", "cluster/o"}, []string{"cluster/other"}},
		"unknown type":    {[]string{"get", "pods", ""}, nil},
		"clusters":        {[]string{"submit", "--cluster", "demo"}, []string{"demo-1", "demo-2"}},
		"profiles":        {[]string{"submit", "--profile", ""}, []string{"small"}},
		"queues":          {[]string{"submit", "--queue", ""}, []string{"team-a"}},
		"namespaces":      {[]string{"get", "--namespace", ns}, []string{ns}},
		"types of GPUs":   {[]string{"submit", "--gpu-type", ""}, []string{"a10", "a100", "a10g", "b200", "gb200", "h100", "h200", "l4", "l40s", "t4", "v100"}},
		"outputs":         {[]string{"get", "clusters", "-o", ""}, []string{"table", "wide", "json", "yaml", "name", "jsonpath="}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			args := slices.Concat([]string{"__complete", tc.args[0], "-n", ns}, tc.args[1:])
			if got := offered(args...); !slices.Equal(got, tc.want) {
				t.Errorf("offers %q, want %q", got, tc.want)
			}
		})
	}
	g.queue(t, ns, "team-b")
	if got := offered("__complete", "submit", "-n", ns, "--queue", ""); !slices.Equal(got, []string{"team-b"}) {
		t.Errorf("offers the queues %q", got)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		raygate("completion", shell).want(t, 0, "raygate")
	}
}

// offered are the completions of a command.
func offered(args ...string) (all []string) {
	for line := range strings.Lines(raygate(args...).out) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, ":") {
			all = append(all, line)
		}
	}
	return all
}

// queue makes a LocalQueue, of a CRD as Kueue's.
func (g *gateway) queue(t *testing.T, ns, name string) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: localqueues.kueue.x-k8s.io}
spec:
  group: kueue.x-k8s.io
  names: {kind: LocalQueue, listKind: LocalQueueList, plural: localqueues, singular: localqueue}
  scope: Namespaced
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}, additionalPrinterColumns: [{name: ClusterQueue, type: string, jsonPath: .spec.clusterQueue}]}
`), crd); err != nil {
		t.Fatal(err)
	}
	crds := g.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = crds.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}) })
	queue := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": map[string]any{"name": name}}}
	queues := g.dynamic.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "localqueues"}).Namespace(ns)
	await.NoError(t, "the API server to serve queues", func() error {
		_, err := queues.Create(t.Context(), queue, metav1.CreateOptions{})
		return err
	})
}
