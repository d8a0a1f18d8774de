package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/console/internal/browser"
)

// quiet are objects that stay as they are.
const quiet = `
apiVersion: ray.io/v1
kind: RayCronJob
metadata: {name: nightly, namespace: NAMESPACE}
spec:
  schedule: 0 3 1 1 *
  jobTemplate: {entrypoint: python night.py, rayClusterSpec: CLUSTER}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train, namespace: NAMESPACE}
spec: {entrypoint: python train.py, managedBy: kueue.x-k8s.io/multikueue, rayClusterSpec: CLUSTER}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: queued, namespace: NAMESPACE, labels: {kueue.x-k8s.io/queue-name: team-a}}
spec: {entrypoint: python train.py, suspend: true, shutdownAfterJobFinishes: true, managedBy: kueue.x-k8s.io/multikueue, rayClusterSpec: CLUSTER}
---
apiVersion: ray.io/v1
kind: RayService
metadata: {name: shop, namespace: NAMESPACE}
spec: {suspend: true, rayClusterConfig: CLUSTER}
`

const quietCluster = `{rayVersion: 2.52.0, headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}}},
  workerGroupSpecs: [{groupName: cpu, replicas: 2, minReplicas: 1, maxReplicas: 4, rayStartParams: {}, template: {spec: {containers: [{name: ray-worker, image: "rayproject/ray:2.52.0"}]}}}]}`

func createQuiet(t *testing.T, ns string) {
	t.Helper()
	for text := range strings.SplitSeq(strings.NewReplacer("NAMESPACE", ns, "CLUSTER", quietCluster).Replace(quiet), "---\n") {
		create(t, text)
	}
}

// api are the calls of pages but for those of the session.
var api = []string{"*/apis/v2/*", "*/ui/api/*"}

// Each page is opened while all calls fail, as when the gateway is away, or as when an API server has just started and knows of no rights. When they succeed
// again, all that belongs to the page appears by itself.
func TestPagesComeBack(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "demo", ready: true, workers: 2, version: "2.52.0"})
	createQuiet(t, ns)
	object := "/ui/namespaces/" + ns + "/"
	for path, want := range map[string][]string{
		"/ui/clusters?namespace=" + ns:            {"1 cluster", "Create cluster", "Live", ns},
		object + "clusters/demo":                  {"Diagnosis", "RayClusterProvisioned", "Scale", "Edit", "Submissions", "Live"},
		object + "clusters/demo?tab=pods":         {"No Pods", "Delete"},
		object + "clusters/demo?tab=events":       {"0 events", "Delete"},
		object + "clusters/demo?tab=yaml":         {"kind: RayCluster"},
		object + "cronjobs/nightly":               {"Run now", "0 3 1 1 *"},
		object + "cronjobs/nightly/edit":          {"Edit cron job nightly", "YAML of the object", "Save"},
		object + "jobs/queued":                    {"Queue", "team-a (waits)", "Diagnosis"},
		object + "jobs/train?tab=logs":            {"It is tried again", "Live"}, // a job that nobody runs has no log yet
		object + "services/shop?tab=upgrade":      {"This service is not upgraded step by step", "Resume"},
		"/ui/create?kind=jobs&namespace=" + ns:    {"No mistakes.", "Create"},
		"/ui/submit?cluster=demo&namespace=" + ns: {"1 ready in " + ns, "Submit a job"},
	} {
		t.Run(strings.TrimPrefix(strings.ReplaceAll(path, ns, "NS"), "/ui/"), func(t *testing.T) {
			t.Parallel()
			u := comesTo(t, stage.admin, path)
			u.expects("status of 502", "status of 403", "status of 400", "status of 404", "status of 409", "status of 412")
			u.sees(want...)
			for _, answer := range []browser.Answer{
				{Status: 502, JSON: "a proxy says so"}, {Status: 200, JSON: `{"code": `}, {Status: 403, JSON: `{"code": 7, "message": "you may not (clusterrole not found)"}`},
			} {
				failing, err := u.page.Intercept(answer, api...)
				u.must(err)
				u.goTo(path)
				u.must(u.page.Wait(func() error { // what the frame asks for, and what the page does
					if n := failing.Count(); n < 3 {
						return fmt.Errorf("the page has asked %d times", n)
					}
					return nil
				}))
				u.must(failing.Stop())
				u.sees(want...)
			}
		})
	}
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
		u.expects("status of 502")
		failing, err := u.page.Intercept(browser.Answer{Status: 502}, "*/ui/session")
		u.must(err)
		u.goTo("/ui/clusters?namespace=" + ns)
		u.sees("The answer is HTTP 502")
		u.must(failing.Stop())
		u.hasRows("demo")
	})
	t.Run("token that is not known for a while", func(t *testing.T) {
		t.Parallel()
		u := comesTo(t, stage.admin, object+"clusters/demo?tab=pods")
		u.expects("status of 401", "status of 404")
		u.sees("No Pods")
		failing, err := u.page.Intercept(browser.Answer{Status: 401, JSON: `{"code": 16, "message": "Unauthorized"}`}, api...)
		u.must(err)
		u.goTo(object + "clusters/demo?tab=pods") // not by a link, which is gone when a request of the page itself is answered first
		u.sees("Your session has ended")
		u.must(failing.Stop())
		u.isAt(object + "clusters/demo")
		u.sees("No Pods")
	})
	t.Run("right that is granted", func(t *testing.T) {
		t.Parallel()
		token, err := stage.User(t.Context(), ns, "newcomer", "", false)
		if err != nil {
			t.Fatal(err)
		}
		u := comesTo(t, token, "/ui/clusters?namespace="+ns)
		u.expects("status of 403")
		u.sees("You may not see clusters in " + ns)
		u.must(stage.Client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "newcomer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ray-reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "newcomer"}},
		}))
		u.hasRows("demo")
	})
}

// As long as nothing has arrived a page says that it loads, and not that there is nothing.
func TestLoading(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "demo", ready: true})
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	u.expects("status of 404")
	u.hasRows("demo")
	for name, path := range map[string]string{"list": "/ui/clusters?namespace=" + ns, "object": "/ui/namespaces/" + ns + "/clusters/demo", "pods": "/ui/namespaces/" + ns + "/clusters/demo?tab=pods"} {
		pattern := "*:watch*"
		if name == "pods" {
			pattern = "*/pods"
		}
		slow, err := u.page.Intercept(browser.Answer{}, pattern)
		u.must(err)
		u.goTo(path)
		u.must(u.page.Wait(func() error {
			if slow.Count() == 0 {
				return errNotThere
			}
			return nil
		}))
		u.sees("Loading…")
		// Whatever the page says from now on is kept, so that nothing goes by unseen.
		u.must(u.page.Run(`(window.said = [], new MutationObserver(() => window.said.push(document.getElementById('main')?.innerText ?? '')).observe(document.getElementById('app'), {subtree: true, childList: true, characterData: true}), 0)`, nil))
		u.looks("loading-" + name)
		u.must(slow.Stop())
		u.seesNoMore("Loading…")
		var said []string
		u.must(u.page.Run(`window.said`, &said))
		for _, text := range said {
			if name != "pods" && (strings.Contains(text, "No clusters") || strings.Contains(text, "There is no")) {
				t.Errorf("the page said, before all was there: %s", text)
			}
		}
	}
}

// A page in the background keeps no connection, of which browsers have few, and is up to date when one comes back to it.
func TestBackground(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "before", ready: true})
	hide := func(u *user, hidden bool) {
		u.must(u.page.Run(fmt.Sprintf(`(Object.defineProperty(document, 'hidden', {value: %t, configurable: true}), document.dispatchEvent(new Event('visibilitychange')), 0)`, hidden), nil))
	}
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	u.hasRows("before")
	u.sees("Live")
	hide(u, true)
	u.must(u.page.Wait(func() error {
		if open := u.page.InFlight(); len(open) > 0 {
			return fmt.Errorf("there are connections: %q", open)
		}
		return nil
	}))
	createStill(t, ns, still{name: "meanwhile", ready: true})
	u.must(stage.Client.Delete(t.Context(), &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "before"}}))
	if got := u.rows(); !slices.Equal(got, []string{"before"}) {
		t.Errorf("in the background the page has the rows %q", got)
	}
	hide(u, false)
	u.hasRows("meanwhile")
	if streams := u.watches(); len(streams) != 1 {
		t.Errorf("the page has the watches %q open, want one", streams)
	}
}
