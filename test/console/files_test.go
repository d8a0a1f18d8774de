package console

import "testing"

// pickFolder chooses a folder in the form of a job, as a person does in a dialog of the browser.
const pickFolder = `{
	const file = (path, text) => Object.defineProperty(new File([text], path.split('/').pop()), 'webkitRelativePath', {value: path});
	const files = [file('app/main.sh', '. ./lib/words.sh; echo "$WORDS"'), file('app/lib/words.sh', 'WORDS="from the folder"'), file('app/.git/config', 'secret')];
	const input = document.querySelector('#submit-folder');
	Object.defineProperty(input, 'files', {value: files});
	input.dispatchEvent(new Event('change', {bubbles: true}));
}`

// A job runs with the files of a folder, on a cluster of its own and on one that runs.
func TestJobWithFiles(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	create(t, clusterYAML(ns, "shared", 0))
	u := comesTo(t, stage.admin, "/ui/submit?namespace="+ns)
	u.expects("status of 400", "status of 404", "status of 409", "status of 412", "status of 503")
	u.fill("textbox", "Name", "files")
	u.fill("textbox", "Entrypoint", "sh main.sh")
	u.fill("spinbutton", "Workers", "0")
	u.fill("textbox", "CPUs per Pod", "100m")
	u.fill("textbox", "Memory per Pod", "100Mi")
	u.must(u.page.Run(pickFolder, nil))
	u.sees("2 files")
	u.must(u.page.Run(`scrollTo(0, 0)`, nil)) // else the bar at the top covers half a field
	u.looks("submit-with-files")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/jobs/files?tab=logs")
	u.sees("from the folder", "Ended")

	awaitDashboard(t, ns, "shared")
	u.goTo("/ui/submit?namespace=" + ns + "&cluster=shared")
	u.fill("textbox", "Entrypoint", "sh main.sh")
	u.fill("textbox", "Runtime environment", "env_vars: {A: b}")
	u.must(u.page.Run(pickFolder, nil))
	u.sees("2 files")
	u.click("button", "Submit")
	u.isAt("/ui/namespaces/" + ns + "/clusters/shared")
	u.sees("from the folder", "SUCCEEDED")
}
