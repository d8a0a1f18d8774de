package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestProcessWithoutOptionalRights runs the operator with the rights of operator/config/rbac only, where all the kinds are served that
// the components are about. Clusters run, and it says what it lacks: in a condition of who wants it, and once in its log.
func TestProcessWithoutOptionalRights(t *testing.T) {
	ctx, env, c, must := installed(t)
	must(client.IgnoreAlreadyExists(c.Create(ctx, manifest(t, volcanoCRD))))
	for _, kind := range []schema.GroupVersionKind{
		{Group: "route.openshift.io", Version: "v1", Kind: "Route"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
	} {
		remove, err := env.InstallKind(ctx, kind)
		must(err)
		t.Cleanup(func() {
			if err := remove(); err != nil {
				t.Error(err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	must(os.WriteFile(file, []byte(fileHead+`
batchScheduler: volcano
leaderElectionNamespace: `+systemNamespace+`
featureGates: {RayClusterMTLS: true}
`), 0o600))
	ports, err := programs.FreePorts(2)
	must(err)
	health := fmt.Sprintf("127.0.0.1:%d", ports[1])
	cmd := operator(t, nil, "--kubeconfig="+operatorKubeconfig(ctx, t, env, c), "--config="+file,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), "--health-probe-bind-address="+health)
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	must(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the operator said:\n%s", out)
		}
	})

	tls := raytest.Spec(func(s *rayv1.RayClusterSpec) { s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)} })
	token := raytest.Spec(func(s *rayv1.RayClusterSpec) { s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken} })
	cases := []struct {
		name     string
		option   raytest.ClusterOption
		wantPods int
		want     string // in the message of the condition that is not about the scheduler
	}{
		{name: "plain", option: func(*rayv1.RayCluster) {}, wantPods: 1},
		{name: "published", option: raytest.Head(func(h *rayv1.HeadGroupSpec) { h.EnableIngress = new(true) }), wantPods: 1, want: `cannot get resource "routes"`},
		{name: "token", option: token, wantPods: 1, want: `cannot create resource "secrets"`},
		{name: "encrypted", option: tls, want: `cannot get resource "certificates"`}, // its Pods wait for them
	}
	for _, tc := range cases {
		rc := raytest.RayCluster("default/rights-"+tc.name, tc.option)
		rc.UID, rc.Generation = "", 0
		must(c.Create(ctx, rc))
		t.Cleanup(func() { _ = c.Delete(context.Background(), rc) })
	}
	for _, tc := range cases {
		var pods corev1.PodList
		eventually(ctx, t, "the Pods of "+tc.name, func() bool {
			must(c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{rayv1.LabelCluster: "rights-" + tc.name}))
			return len(pods.Items) == tc.wantPods
		})
		messages := ""
		said := func(text string) func() bool {
			return func() bool {
				rc := &rayv1.RayCluster{}
				must(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "rights-" + tc.name}, rc))
				messages = ""
				for _, condition := range rc.Status.Conditions {
					if condition.Type == rayv1.RayClusterChildFailure || condition.Type == rayv1.RayClusterBatchSchedulerProblem {
						messages += condition.Message + "\n"
					}
				}
				return strings.Contains(messages, text)
			}
		}
		eventually(ctx, t, "the condition about the PodGroup of "+tc.name, said(`cannot get resource "podgroups"`))
		if eventually(ctx, t, "the condition of "+tc.name, said(tc.want)); tc.want == "" && strings.Count(messages, "cannot") != 1 {
			t.Errorf("conditions of %s, which wants nothing optional but a gang:\n%s", tc.name, messages)
		}
	}
	// A watch that is never filled must not keep the operator from being ready.
	eventually(ctx, t, "readiness", func() bool { return body(ctx, "http://"+health+"/readyz") == "ok" })
	const complaint = "Watching an optional kind is forbidden"
	for _, resource := range []string{"routes.route.openshift.io", "podgroups.scheduling.volcano.sh", "issuers.cert-manager.io"} {
		count := func() int {
			n := 0
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, complaint) && strings.Contains(line, resource) {
					n++
				}
			}
			return n
		}
		eventually(ctx, t, "the log to name "+resource, func() bool { return count() > 0 })
		if n := count(); n != 1 {
			t.Errorf("the log names %[2]s %[1]d times", n, resource)
		}
	}
}
