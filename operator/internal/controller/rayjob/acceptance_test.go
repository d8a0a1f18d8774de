package rayjob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// acceptance says which tests show what KubeRay's own tests show of RayJob, RayCronJob and the calls to Ray. What differs on purpose
// is marked with (*), and docs/rayjob.md says how.
var acceptance = []struct{ scenario, tests string }{
	{"K8sJobMode 1: begins with names, labels, annotations; mirrors conditions", "rayjob.TestKubernetesJobSubmits rayjob.TestStatusOfTheClusterIsMirrored"},
	{"K8sJobMode 2: runs when the cluster is ready; back-off limit of the submitter", "rayjob.TestKubernetesJobSubmits rayjob.TestStatusOfTheClusterIsMirrored"},
	{"K8sJobMode 3: waits for the submitter; shutdown leaves the Job; suspend at the end changes nothing", "rayjob.TestKubernetesJobSubmits jobplan.TestLifeCycle"},
	{"K8sJobMode 4: a program that fails; deletion takes all", "e2e.TestJobFaults"},
	{"K8sJobMode 5: a submitter that reaches nobody", "e2e.TestJobFaults jobplan.TestLifeCycle"},
	{"K8sJobMode 6: a job that is stopped is Complete", "e2e.TestJobFaults rayjob.TestOperatorSubmits"},
	{"K8sJobMode 7: runtimeEnvYAML that is no mapping, a name of 48 letters", "rayjob.TestInvalidSpecCanBeRepaired rayjob.TestNameThatIsTooLong"},
	{"K8sJobMode 8: active deadline, without retries", "e2e.TestJobFaults rayjob.TestDeadlines"},
	{"K8sJobMode 9: the head is deleted", "e2e.TestJobFaults rayjob.TestLostJobs"},
	{"K8sJobMode 10: the submitter is done, the job is not (*)", "rayjob.TestLostJobs jobplan.TestLifeCycle"},
	{"K8sJobMode 11: the Pod of the submitter is deleted", "e2e.TestJobFaults"},
	{"K8sJobMode 12: a change of the cluster's status shows", "rayjob.TestStatusOfTheClusterIsMirrored"},
	{"K8sJobMode 13: token authentication", "rayjob.TestTokenIsReadAndSent build/rayjob.TestGoldenChildren manager.TestJobsWithTheRightsOfTheManifests"},
	{"K8sJobMode 14: pre-running deadline, also in Waiting", "rayjob.TestDeadlines jobplan.TestLifeCycle"},
	{"K8sJobMode 15: managed by MultiKueue", "rayjob.TestManagedElsewhereIsLeftAlone v1.TestSchemaConstraints"},
	{"retries in all modes: counters, names, old before new", "rayjob.TestRetriesOnNewClusters rayjob.TestOldAttemptIsGoneBeforeTheNext e2e.TestJobFaults jobplan.TestAttemptsAreCounted"},
	{"status checks: timer, timeout, end of an outage", "jobplan.TestFailureTimer rayjob.TestLostJobs rayjob.TestRefusedSubmissionFailsAtOnce"},
	{"HTTPMode: success, failure, stop; no Job", "rayjob.TestOperatorSubmits"},
	{"SidecarMode: success, failure, marks, loss of the head", "rayjob.TestSidecarSubmits rayjob.TestLostHeadOfSidecarFails e2e.TestJobFaults"},
	{"SidecarMode with restarts: same job, Complete", "rayjob.TestSidecarIsRestarted"},
	{"clusterSelector", "rayjob.TestSelectedClusterIsLeftAlone"},
	{"InteractiveMode", "rayjob.TestInteractiveJobWaitsForTheUser e2e.TestJobThroughEachEntryPoint"},
	{"suspension: removes, resumes, created suspended, no timer", "rayjob.TestSuspendAndResume jobplan.TestLooksAgainInTime e2e.TestJobFaults"},
	{"suspension with a finalizer on the cluster", "rayjob.TestSuspensionIsAtomic"},
	{"deletion: each policy, each condition, before and after its time", "jobplan.TestSingleRule jobplan.TestTwoRules"},
	{"deletion in stages, and all at once", "jobplan.TestStages rayjob.TestDeletionRules"},
	{"deletion by legacy policies", "jobplan.TestLegacyPolicies"},
	{"deletion of the RayJob by the environment", "jobplan.TestShutdown manager.TestSettingsReachTheControllerOfJobs"},
	{"batch scheduler: clean-up, its events, its errors", "rayjob.TestVolcanoKnowsTheGangBeforeTheCluster rayjob.TestVolcanoReleasesASuspendedJob rayjob.TestSchedulerThatCannotBeReached"},
	{"command lines, ports, metadata and versions of Ray", "build/rayjob.TestGoldenChildren build/job.TestScriptRuns build/job.TestSidecarScriptRuns"},

	{"cron 1: an invalid schedule", "raycronjob.TestInvalidIsToldOnce"},
	{"cron 2: due, with the next look", "raycronjob.TestRunsOnSchedule raycronjob.TestScheduleOnAServer"},
	{"cron 3: label, entrypoint, names", "raycronjob.TestRunsOnSchedule build/rayjob.TestScheduled"},
	{"cron 4: a stale status makes nothing twice", "raycronjob.TestKilledBeforeTheStatus"},
	{"cron 5: suspension", "raycronjob.TestSuspendedRunsNothing raycronjob.TestSuspensionOnAServer"},
	{"cron 6: a time zone", "raycronjob.TestTimeZone raycronjob.TestScheduleOnAServer"},
	{"cron 7: what is refused", "raycronjob.TestInvalidIsToldOnce matrix.TestVerdicts"},
	{"cron 8: nothing is written for nothing", "raycronjob.TestNothingIsWrittenForNothing"},

	{"dashboard: answers, refusals, paths, deadlines of the client", "dashboard.TestGetJob dashboard.TestRefusals dashboard.TestPathsAndHeaders dashboard.TestDeadlines"},
	{"dashboard: an id that is taken, an id that is not known", "raysim.TestDuplicateID raysim.TestUnknownIDsAndPaths rayjob.TestSubmissionWithLostAnswerRunsOnce"},
	{"dashboard: stop while pending, running, at the end; deletion; list", "raysim.TestStop raysim.TestStopBeforeStart raysim.TestControl"},
	{"dashboard: tail from the start, frames, closures", "raysim.TestTailFollows raysim.TestFrames dashboard.TestTailJobLogs dashboard.TestTailBreaks"},
	{"dashboard: tokens", "raysim.TestTokens rayjob.TestTokenIsReadAndSent"},
	{"dashboard: anything at all", "dashboard.FuzzAnswers rayjob.FuzzDashboardReplies"},
}

// folders of the packages above, from this one.
var folders = map[string]string{
	"rayjob": ".", "raycronjob": "../raycronjob", "jobplan": "../../jobplan", "build/rayjob": "../../build/rayjob", "build/job": "../../build/job",
	"manager": "../../../cmd/manager", "v1": "../../../../api/ray/v1", "dashboard": "../../../../pkg/dashboard", "raysim": "../../../../test/raysim",
	"e2e": "../../../../test/e2e", "matrix": "../../../../test/matrix",
}

// TestAcceptanceTable keeps the table from naming tests that are gone.
func TestAcceptanceTable(t *testing.T) {
	sources := map[string]string{}
	for name, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources[name] += string(data)
		}
	}
	for _, a := range acceptance {
		for test := range strings.FieldsSeq(a.tests) {
			name, function, _ := strings.Cut(test, ".")
			if !strings.Contains(sources[name], "\nfunc "+function+"(") {
				t.Errorf("%s: there is no %s", a.scenario, test)
			}
		}
	}
}
