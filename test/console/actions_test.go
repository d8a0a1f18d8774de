package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// A cron job is run now, suspended and resumed.
func TestCronJob(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createQuiet(t, ns)
	u := comesTo(t, stage.admin, "/ui/cronjobs?namespace="+ns)
	u.expects("status of 404")
	u.hasRows("nightly")
	u.sees("Scheduled", "0 3 1 1 *", "in ") // the next run
	u.looks("cronjobs")
	u.click("link", "nightly")
	page := "/ui/namespaces/" + ns + "/cronjobs/nightly"
	u.isAt(page)
	u.sees("Time zone", "python night.py")
	u.looks("cronjob")

	u.click("button", "Run now")
	var name string
	eventually(t, "a job", func(ctx context.Context) error {
		var made rayv1.RayJobList
		err := stage.Client.List(ctx, &made, client.InNamespace(ns))
		for _, job := range made.Items {
			if strings.HasPrefix(job.Name, "nightly") {
				name = job.Name
				return nil
			}
		}
		return fmt.Errorf("none of %d jobs: %w", len(made.Items), errorOr(err))
	})
	u.isAt("/ui/namespaces/" + ns + "/jobs/" + name)
	u.sees("has made RayJob " + name)
	u.click("link", "RayCronJob nightly") // whose it is
	u.isAt(page)

	u.click("button", "Suspend")
	u.finds("dialog", "Suspend nightly?")
	u.sees("makes no more jobs until it is resumed")
	u.click("button", "Suspend")
	u.findsState("Suspended")
	u.finds("button", "Run now") // suspended or not
	u.click("link", "Cron jobs")
	u.sees("Suspended")
	u.click("link", "nightly")
	u.click("button", "Resume")
	u.findsState("Scheduled")
}

// The actions for a service follow its state. Its workers are scaled within the limits of the API server.
func TestService(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createQuiet(t, ns)
	u := comesTo(t, stage.admin, "/ui/namespaces/"+ns+"/services/shop")
	u.expects("status of 400", "status of 404")
	u.findsState("Suspended")
	for _, name := range []string{"Scale", "Resume", "Delete"} {
		u.finds("button", name)
	}
	for _, name := range []string{"Suspend", "Stop", "Run now", "Dashboard", "Roll back"} { // an upgrade is rolled back by editing
		u.findsNo("button", name)
	}
	u.looks("service")

	u.click("button", "Scale")
	u.finds("dialog", "Scale shop")
	u.fill("spinbutton", "Replicas", "-1")
	u.sees("Replicas must be a whole number of at least 0.")
	if b := u.finds("button", "Scale"); b.States["disabled"] == "" {
		t.Error("a number below 0 can be sent")
	}
	if field := u.finds("spinbutton", "Minimum"); field.States["invalid"] != "" {
		t.Error("a field is marked that is as it must be")
	}
	u.looks("scale-problem")
	u.fill("spinbutton", "Replicas", "3")
	u.fill("spinbutton", "Minimum", "9") // more than the maximum, which the API decides on
	u.click("button", "Scale")
	u.finds("alert", "")
	u.looks("scale-refused")
	u.fill("spinbutton", "Minimum", "2")
	u.click("button", "Scale")
	u.must(u.page.Wait(func() error { return absent(u, "dialog", "") }))
	var service rayv1.RayService
	u.must(stage.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "shop"}, &service))
	if g := service.Spec.RayClusterSpec.WorkerGroupSpecs[0]; *g.Replicas != 3 || *g.MinReplicas != 2 || *g.MaxReplicas != 4 {
		t.Errorf("the group has %d replicas from %d to %d, want 3 from 2 to 4", *g.Replicas, *g.MinReplicas, *g.MaxReplicas)
	}
}
