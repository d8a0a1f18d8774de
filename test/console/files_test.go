package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folderOfFiles makes a folder with 200 files for a job, and one that is never sent.
func folderOfFiles(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "app")
	files := map[string]string{"main.sh": `. ./lib/part198.sh; echo "$WORDS"; exit 7`, ".git/config": "secret"}
	for i := range 199 {
		files[fmt.Sprintf("lib/part%03d.sh", i)] = fmt.Sprintf("WORDS='part %d of the folder'\n", i)
	}
	for path, text := range files {
		at := filepath.Join(folder, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A folder that is chosen or dropped runs on a cluster of its own and on one that runs, with its log and exit code. An unchanged folder is sent once to each place.
func TestJobWithFiles(t *testing.T) {
	t.Parallel()
	ns, folder := namespace(t), folderOfFiles(t)
	create(t, clusterYAML(ns, "shared", 0))
	u := comesTo(t, stage.admin, "/ui/submit?namespace="+ns)
	for _, drop := range []bool{false, true} {
		u.runsAlone(ns, folder, "", drop)
	}
	awaitDashboard(t, ns, "shared")
	for _, drop := range []bool{true, false} {
		u.runsOn(ns, "shared", folder, drop, !drop)
	}
}

// The same with real Ray, by test/realray: in a namespace with the cluster demo, at a gateway without login.
func TestJobWithFilesOnRay(t *testing.T) {
	if realRay == "" {
		t.Skip("test/realray runs it")
	}
	ns, folder := os.Getenv("RAYGATE_NAMESPACE"), folderOfFiles(t)
	u := arrives(t, "")
	u.patience = 5 * time.Minute
	for _, drop := range []bool{false, true} {
		u.runsAlone(ns, folder, realRay, drop)
	}
	for _, drop := range []bool{true, false} {
		u.runsOn(ns, "demo", folder, drop, !drop)
	}
}

// answersOfFiles are the error answers to a page that runs files: there is no package yet, or no job or cluster.
var answersOfFiles = []string{"status of 400", "status of 404", "status of 409", "status of 412", "status of 503"}

// runsAlone runs a folder on a cluster of its own, which is sent only if it is chosen, not dropped. An empty image is that of the form, for simulated Ray.
func (u *user) runsAlone(ns, folder, image string, drop bool) {
	u.t.Helper()
	u.expects(answersOfFiles...)
	name, cpu, memory := fmt.Sprintf("files-%t", drop), "100m", "100Mi"
	u.opens("/ui/submit?namespace="+ns, folder, drop)
	if image != "" {
		cpu, memory = "500m", "2Gi"
		u.fill("textbox", "Image", image)
	}
	u.fill("textbox", "Name", name)
	u.fill("spinbutton", "Workers", "0")
	u.fill("textbox", "CPUs per Pod", cpu)
	u.fill("textbox", "Memory per Pod", memory)
	u.must(u.page.Run(`scrollTo(0, 0)`, nil)) // else the bar at the top covers half a field
	u.looks("submit-with-files")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/jobs/" + name + "?tab=logs")
	u.hasSent(drop)
	u.sees("part 198 of the folder", "Ended")
	u.goTo("/ui/namespaces/" + ns + "/jobs/" + name)
	u.sees("exit code 7")
}

// runsOn runs a folder on a cluster that runs, which has the folder already or not.
func (u *user) runsOn(ns, cluster, folder string, drop, already bool) {
	u.t.Helper()
	u.expects(answersOfFiles...)
	u.opens("/ui/submit?namespace="+ns+"&cluster="+cluster, folder, drop)
	u.fill("textbox", "Runtime environment", "env_vars: {A: b}")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/clusters/" + cluster)
	u.hasSent(already)
	u.sees("part 198 of the folder", "FAILED", "Exit code\n7")
}

// opens opens the form of a job and gives it a folder.
func (u *user) opens(form, folder string, drop bool) {
	u.t.Helper()
	u.page.Forget()
	u.goTo(form)
	u.fill("textbox", "Entrypoint", "sh main.sh")
	if drop {
		u.must(u.page.Drop(u.finds("group", "Files"), folder))
	} else {
		u.must(u.page.ChooseFile(u.finds("button", "Folder"), folder))
	}
	u.sees("200 files")
}

// hasSent checks that the form has asked for the package of a folder, and sent it unless the gateway has it already.
func (u *user) hasSent(already bool) {
	u.t.Helper()
	calls := 0
	for _, url := range u.page.URLs() {
		if strings.Contains(url, "/packages/_ray_pkg_") {
			calls++
		}
	}
	if want := map[bool]int{false: 2, true: 1}[already]; calls != want {
		u.t.Errorf("%d requests about the package, want %d", calls, want)
	}
}

// A zip that is dropped is taken as it is. Other files are not.
func TestDroppedZip(t *testing.T) {
	t.Parallel()
	ns, folder := namespace(t), t.TempDir()
	u := comesTo(t, stage.admin, "/ui/submit?namespace="+ns)
	for _, name := range []string{"app.zip", "app.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.must(u.page.Drop(u.finds("group", "Files"), filepath.Join(folder, "app.zip")))
	u.sees("app.zip, 1 KiB")
	u.must(u.page.Drop(u.finds("group", "Files"), filepath.Join(folder, "app.txt")))
	u.sees("A folder or a zip may be dropped here")
}
