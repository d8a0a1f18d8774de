package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/chromedp/chromedp/kb"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/console/internal/browser"
)

const editorLabel = "YAML or JSON of the object"

// The life of a cluster, from a mistake in its YAML to its end.
func TestLife(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	u.expects("status of 400", "status of 404") // what is wrong with the text; the cluster that is gone

	u.sees("No clusters in " + ns)
	u.click("link", "Create cluster")
	u.isAt("/ui/create")
	good := clusterYAML(ns, "demo", 1)
	bad := strings.Replace(good, "replicas: 1", "replicas: one", 1)
	u.fill("textbox", editorLabel, bad)
	line := strings.Count(bad[:strings.Index(bad, "replicas: one")], "\n") + 1
	mistake := u.finds("button", fmt.Sprintf("Mistake, line %d", line))
	u.looks("create-mistake")
	u.must(u.page.ClickOn(mistake))
	var selected string
	u.must(u.page.Run(`(({value, selectionStart, selectionEnd}) => value.slice(selectionStart, selectionEnd))(document.activeElement)`, &selected))
	if !strings.Contains(selected, "one") {
		t.Errorf("the mistake leads to %q", selected)
	}
	u.fill("textbox", editorLabel, good)
	u.must(u.page.Wait(func() error { return absent(u, "button", "Mistake") }))
	u.looks("create")
	u.click("button", "Create")

	page := "/ui/namespaces/" + ns + "/clusters/demo"
	u.isAt(page)
	u.findsState("Ready") // without loading anything
	u.sees("Conditions", "HeadPodReady", "Nothing is wrong", "20m", "20 MiB")
	u.looks("cluster")
	if streams := u.watches(); len(streams) != 1 {
		t.Errorf("the page of an object has the watches %q open, want one", streams)
	}
	awaitDashboard(t, ns, "demo")
	for _, tab := range []string{"Pods", "Events", "Submissions", "YAML"} {
		u.click("link", tab)
		u.must(u.page.Wait(func() error { return absent(u, "status", "Loading") }))
		if tab == "Submissions" {
			u.sees("0 on this cluster", "No jobs")
		}
		u.looks("cluster-" + strings.ToLower(tab))
	}

	u.click("button", "Dashboard") // a simulated Ray may have no page there
	tab, err := u.page.CloseTabAt(stage.URL + "/dashboards/")
	u.must(err)
	if tab.HasOpener {
		t.Error("the dashboard can reach the page that opened it")
	}

	u.click("link", "Overview")
	u.click("button", "Scale")
	u.finds("dialog", "Scale demo")
	u.fill("spinbutton", "Replicas", "3")
	u.looks("scale")
	u.click("button", "Scale")
	u.sees("3/3 ready")

	u.click("button", "Suspend")
	u.finds("dialog", "Suspend demo?")
	u.looks("suspend")
	u.press(kb.Escape) // nothing happens
	u.must(u.page.Wait(func() error { return absent(u, "dialog", "") }))
	if rc, err := getCluster(t.Context(), ns, "demo"); err != nil || rc.Spec.Suspend != nil && *rc.Spec.Suspend {
		t.Errorf("Escape has suspended the cluster: %v", err)
	}
	u.click("button", "Suspend")
	u.finds("dialog", "Suspend demo?")
	u.click("button", "Suspend")
	u.findsState("Suspended")
	u.looks("suspended")
	u.click("button", "Resume")
	u.findsState("Ready")

	u.click("button", "Delete")
	u.finds("dialog", "Delete demo?")
	if b := u.finds("button", "Delete"); b.States["disabled"] == "" {
		t.Error("the cluster can be deleted without its name being typed")
	}
	u.looks("delete")
	u.fill("textbox", "Type demo to confirm", "demo")
	u.click("button", "Delete")
	u.isAt("/ui/clusters?namespace=" + ns)
	u.sees("No clusters in " + ns)
	eventually(t, "the end of the cluster", func(ctx context.Context) error {
		if _, err := getCluster(ctx, ns, "demo"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %w", err)
		}
		return nil
	})
}

const steps = `for i in 1 2 3 4 5 6; do echo "step $i of 6"; sleep 0.5; done`

// A RayJob is submitted by the form, and its log followed to its end.
func TestJob(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	u := comesTo(t, stage.admin, "/ui/submit?namespace="+ns)
	u.expects("status of 400", "status of 404", "status of 409", "status of 412", "status of 503") // the log is asked for before there is one
	u.finds("heading", "Submit a job")
	u.fill("textbox", "Name", "train")
	u.fill("textbox", "Entrypoint", "seq -f step-%g 1 6")
	u.fill("spinbutton", "Workers", "0")
	u.fill("textbox", "CPUs per Pod", "100m")
	u.fill("textbox", "Memory per Pod", "100Mi")
	u.fill("combobox", "Queue", "team-a")                                 // there is no Kueue, which would suspend the job
	for _, name := range []string{"Name", "Entrypoint", "CPUs per Pod"} { // hints are no part of names
		if field := u.finds("textbox", name); field.Name != name {
			t.Errorf("the field %s is called %q", name, field.Name)
		}
	}
	u.must(u.page.Run(`scrollTo(0, 0)`, nil)) // else the bar at the top covers half a choice
	u.looks("submit")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/jobs/train?tab=logs")
	u.sees("step-1", "step-6", "Ended")
	u.findsState("Succeeded")
	u.looks("job-log")
	u.fill("searchbox", "", "step-4")
	u.looks("job-log-found")
	u.click("link", "Overview")
	u.sees("Conditions", "Queue", "team-a")
	u.looks("job")
	u.click("link", "Jobs")
	u.hasRows("train")
	u.looks("jobs")
}

// The form of a job offers the queues of the namespace.
func TestQueuesAreOffered(t *testing.T) {
	t.Parallel()
	u := comesTo(t, stage.admin, "/ui/clusters")
	_, err := u.page.Intercept(browser.Answer{Status: 200, JSON: `{"queues": [{"name": "team-a"}, {"name": "team-b"}]}`}, "*/namespaces/default/queues")
	u.must(err)
	u.goTo("/ui/submit?namespace=default")
	u.finds("combobox", "Queue")
	u.must(u.page.Wait(func() error {
		var offered string
		if err := u.page.Run(`[...document.querySelector('#submit-queue').list.options].map((o) => o.value).join()`, &offered); err != nil || offered != "team-a,team-b" {
			return fmt.Errorf("%q is offered: %w", offered, err)
		}
		return nil
	}))
}

// A profile takes the place of image and sizes in the form.
func TestJobOfProfile(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	profile := &corev1.ConfigMap{}
	profile.Namespace, profile.Name, profile.Labels = ns, "small", map[string]string{rayv1.LabelConfigType: rayv1.ConfigTypeProfile}
	_, cluster, _ := strings.Cut(clusterYAML(ns, "unused", 0), "\nspec:")
	profile.Data = map[string]string{"profile.yaml": "description: A head without workers\nspec:" + strings.ReplaceAll(cluster, "groupName: cpu", "groupName: workers")}
	if err := stage.Client.Create(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	u := comesTo(t, stage.admin, "/ui/submit?namespace="+ns)
	u.expects("status of 400", "status of 404", "status of 409", "status of 412", "status of 503")
	u.fill("textbox", "Name", "train")
	u.fill("textbox", "Entrypoint", "seq -f step-%g 1 6")
	u.finds("combobox", "Profile")
	u.must(u.page.Run(`{const choice = document.querySelector('#submit-profile'); choice.value = 'small'; choice.dispatchEvent(new Event('change', {bubbles: true}))}`, nil))
	u.sees("A head without workers")
	u.findsNo("textbox", "Image")
	u.looks("submit-with-profile")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/jobs/train?tab=logs")
	u.sees("step-6", "Ended")
}

// A RayJob that fails before it runs has no log, and its page says so once.
func TestJobThatNeverRan(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	job := &rayv1.RayJob{}
	job.Namespace, job.Name = ns, "failed"
	job.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") // no operator acts on it
	job.Spec.Entrypoint = "python train.py"
	job.Spec.RayClusterSpec = &rayv1.RayClusterSpec{}
	rc := &rayv1.RayCluster{}
	if err := yaml.Unmarshal([]byte(clusterYAML(ns, "unused", 0)), rc); err != nil {
		t.Fatal(err)
	}
	*job.Spec.RayClusterSpec = rc.Spec
	if err := stage.Client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	u := comesTo(t, stage.admin, "/ui/namespaces/"+ns+"/jobs/failed?tab=logs")
	u.expects("status of 400", "status of 412")
	u.sees("It is tried again")
	job.Status.JobDeploymentStatus, job.Status.Reason, job.Status.Message = rayv1.JobDeploymentStatusFailed, "SubmissionFailed", "the submitter broke"
	u.must(stage.Client.Status().Update(t.Context(), job))
	u.sees("There is no log. The RayJob ended as Failed before its job ran. SubmissionFailed: the submitter broke.", "No log", "Show the log of the submitter")
	u.seesNoMore("It is tried again")
	u.looks("job-never-ran")
}

// A job is submitted to a cluster that runs.
func TestSubmission(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	create(t, clusterYAML(ns, "shared", 0))
	u := comesTo(t, stage.admin, "/ui/namespaces/"+ns+"/clusters/shared")
	u.expects("status of 404", "status of 409", "status of 503")
	u.findsState("Ready")
	awaitDashboard(t, ns, "shared")
	u.click("link", "Submit a job")
	u.isAt("/ui/submit")
	u.fill("textbox", "Entrypoint", steps)
	u.looks("submit-to-cluster")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/clusters/shared")
	u.sees("step 1 of 6")
	u.sees("step 6 of 6", "Ended", "SUCCEEDED")
	u.looks("submission")
	u.click("button", "All submissions")
	u.sees("1 on this cluster")
	u.looks("submissions")
}

// An object is edited; somebody else has changed it meanwhile.
func TestEdit(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "demo", ready: true, workers: 1, version: "2.52.0"})
	u := comesTo(t, stage.admin, "/ui/namespaces/"+ns+"/clusters/demo/edit")
	u.expects("status of 409", "status of 400", "status of 412")
	var text string
	u.must(u.page.Wait(func() error {
		things, err := u.page.Find("textbox", "")
		for _, thing := range things {
			if strings.Contains(thing.Value, "kind: RayCluster") {
				text = thing.Value
				return nil
			}
		}
		return fmt.Errorf("no text to edit: %w", errorOr(err))
	}))
	u.looks("edit")
	u.must(u.page.Run(`document.querySelector('textarea').focus()`, nil))
	u.must(u.page.Run(`document.activeElement.select()`, nil))
	u.must(u.page.Type(strings.Replace(text, "maxReplicas: 5", "maxReplicas: 7", 1)))
	u.sees("No mistakes.") // or the check while one types would find the conflict, and there would be nothing to save
	rc, err := getCluster(t.Context(), ns, "demo")
	u.must(err)
	rc.Labels = map[string]string{"team": "other"}
	u.must(stage.Client.Update(t.Context(), rc))
	u.click("button", "Save")
	u.sees("changed")
	u.looks("edit-conflict")
}

func errorOr(err error) error {
	if err == nil {
		err = errNotThere
	}
	return err
}

// findsState waits until the page of an object says its state.
func (u *user) findsState(state string) {
	u.t.Helper()
	u.must(u.page.Wait(func() error {
		things, err := u.page.Find("status", "")
		if err != nil {
			return err
		}
		text, err := u.page.Text()
		if err != nil {
			return err
		}
		head, _, _ := strings.Cut(text, "Overview")
		if !strings.Contains(head, state) {
			return fmt.Errorf("the state is not %s: %q, %d statuses", state, head, len(things))
		}
		return nil
	}))
}

// watches returns the watches that the page has open.
func (u *user) watches() []string {
	var open []string
	for _, url := range u.page.InFlight() {
		if strings.Contains(url, ":watch") {
			open = append(open, url)
		}
	}
	return open
}
