package console

import "testing"

// changes are the names of what a reader may not do.
var changes = []string{"Create", "Edit", "Scale", "Suspend", "Resume", "Delete", "Submit", "Stop", "Trigger"}

// Actions that the user may not perform are not offered.
func TestReader(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "demo", ready: true, workers: 2, version: "2.52.0"})
	u := comesTo(t, stage.reader, "/ui/clusters?namespace="+ns)
	u.hasRows("demo")
	offersNoChanges(u)
	u.click("link", "demo")
	u.isAt("/ui/namespaces/" + ns + "/clusters/demo")
	u.sees("Conditions")
	u.finds("link", "Pods") // rights have been read
	offersNoChanges(u)
	u.looks("reader")
}

func offersNoChanges(u *user) {
	u.t.Helper()
	for _, name := range changes {
		u.findsNo("button", name)
	}
	for _, name := range []string{"Create", "Edit"} {
		u.findsNo("link", name)
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "demo", ready: true})
	u := comesTo(t, stage.nobody, "/ui/clusters")
	u.expects("status of 403")
	u.sees("You may not see clusters in all namespaces")
	offersNoChanges(u)
	u.looks("no-rights")
	u.goTo("/ui/namespaces/" + ns + "/clusters/demo")
	u.sees("You may not see this cluster")
	offersNoChanges(u)
	u.looks("no-rights-object")
}
