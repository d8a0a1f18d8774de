package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/console/internal/browser"
)

// The first attempt of a job fails and the second succeeds. Their clusters are gone, and then the job itself: the pages of its past remain.
func TestPast(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	job := &rayv1.RayJob{}
	job.Namespace, job.Name = ns, "train"
	job.Spec.SubmissionMode = rayv1.HTTPMode
	job.Spec.Entrypoint = fmt.Sprintf(`sh -c "seq -f step-%%g 1 3000; if mkdir %s/begun; then echo The Learning Rate is too high >&2; exit 3; fi"`, t.TempDir())
	job.Spec.BackoffLimit = new(int32(1))
	job.Spec.ShutdownAfterJobFinishes = true
	rc := &rayv1.RayCluster{}
	if err := yaml.Unmarshal([]byte(clusterYAML(ns, "unused", 0)), rc); err != nil {
		t.Fatal(err)
	}
	job.Spec.RayClusterSpec = &rc.Spec
	u := comesTo(t, stage.admin, "/ui/past?namespace="+ns)
	u.expects("status of 404", "status of 409", "status of 412", "status of 503") // the job that is gone
	u.sees("No past jobs in " + ns)
	u.must(stage.Client.Create(t.Context(), job))
	u.goTo("/ui/namespaces/" + ns + "/jobs/train")
	u.findsState("Succeeded")
	eventually(t, "the end of its cluster", func(ctx context.Context) error {
		var left rayv1.RayClusterList
		if err := stage.Client.List(ctx, &left, client.InNamespace(ns)); err != nil || len(left.Items) > 0 {
			return fmt.Errorf("%d are left: %w", len(left.Items), err)
		}
		return nil
	})

	u.click("link", "Attempts")
	u.sees("SUCCEEDED", "FAILED", "AppFailed")
	u.looks("job-past")
	u.must(stage.Client.Delete(t.Context(), job))
	eventually(t, "the end of the job", func(ctx context.Context) error {
		if err := stage.Client.Get(ctx, client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %w", errorOr(err))
		}
		return nil
	})
	u.goTo("/ui/namespaces/" + ns + "/jobs/train")
	u.sees("There is no job train")
	u.click("link", "In the history")
	u.isAt("/ui/past?namespace=" + ns + "&kind=jobs&name=train")
	u.hasRows("train", "train")
	u.must(u.page.Choose("Result", "FAILED"))
	u.hasRows("train")
	u.looks("past")

	u.click("link", "train")
	u.sees("attempt 1", "FAILED", "EntrypointFailed", "The Learning Rate", "there is no such object any more", "Conditions", "Attempts", "SUCCEEDED")
	u.looks("record")
	u.click("button", "Dashboard")
	if tab, err := u.page.CloseTabAt(stage.URL + "/dashboards/"); err != nil || tab.HasOpener {
		t.Errorf("the tab of the dashboard: %+v, %v", tab, err)
	}
	u.click("link", "Logs")
	u.sees("The Learning Rate is too high", "Ended")
	u.fill("searchbox", "Find in the log", "learning rate")
	u.sees("1 of 1 lines, in the last 2,000 lines of the log")
	u.looks("record-log")
	u.fill("searchbox", "Find in the log", "step-5")
	u.sees("not found, in the last 2,000 lines of the log") // but in one before
	u.click("button", "Search from the beginning")
	u.sees("1 of 111 lines")
	u.seesNoMore("in the last")
	u.click("button", "The next one")
	u.sees("2 of 111 lines")
	u.must(u.page.Choose("Log of", "raylet.out of the head"))
	u.sees("a simulated node of Ray")
	for _, tab := range []string{"Events", "Pods", "YAML"} {
		u.click("link", tab)
		u.must(u.page.Wait(func() error { return absent(u, "status", "Loading") }))
		u.looks("record-" + strings.ToLower(tab))
	}

	u.click("link", "Overview")
	u.click("link", "train-") // its cluster
	u.sees("There is no cluster train-", "In the history")

	reader := comesTo(t, stage.reader, "/ui/past?namespace="+ns)
	reader.expects("status of 403")
	reader.click("link", "train")
	reader.sees("ray_job is left out")
	reader.click("link", "Logs")
	reader.sees("services/proxy") // the right that the log needs
}

// Older records come page by page, after what is there. A gateway without a history store has no link to them, and the page says why.
func TestPastPages(t *testing.T) {
	t.Parallel()
	u := comesTo(t, stage.admin, "/ui/clusters")
	u.expects("status of 400")
	answers := func(status int64, json string) *browser.Intercepted {
		i, err := u.page.Intercept(browser.Answer{Status: status, JSON: json}, "*/history?*")
		u.must(err)
		return i
	}
	page := func(name, next string) string {
		return fmt.Sprintf(`{"records": [{"kind": "RayCluster", "namespace": "default", "name": %q, "uid": %[1]q, "result": "ready", "endTime": "2026-01-02T03:04:05Z",
			"createTime": "2026-01-01T00:00:00Z"}], "nextPageToken": %q}`, name, next)
	}
	answers(200, page("newer", "more"))
	u.goTo("/ui/past?namespace=default&kind=clusters")
	u.hasRows("newer")
	u.sees("The newest 1", "1d3h")
	answers(200, page("older", ""))
	u.click("button", "Older ones")
	u.hasRows("newer", "older")
	u.sees("2, and no older ones")
	if urls := u.page.URLs(); !strings.Contains(urls[len(urls)-1], "pageToken=more") {
		t.Errorf("the last request is %s", urls[len(urls)-1])
	}
	answers(400, `{"code": 9, "message": "this gateway has no history of ended objects", "details": []}`)
	u.click("button", "Refresh")
	u.sees("this gateway has no history")

	u.must(answers(400, "").Stop())
	_, err := u.page.Intercept(browser.Answer{Status: 200, JSON: `{"authenticated": true, "login": true, "user": "admin"}`}, "*/ui/session")
	u.must(err)
	u.goTo("/ui/clusters?namespace=default")
	u.finds("link", "Submit")
	u.findsNo("link", "Past")
}
