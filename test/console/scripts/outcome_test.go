package scripts

import "testing"

// TestLogsThatNeverCome distinguishes logs that do not exist yet from those of jobs that ended before they ran.
func TestLogsThatNeverCome(t *testing.T) {
	s := scriptOf(t, "outcome")
	s.run("var code = {RESOURCE_EXHAUSTED: 8, ABORTED: 10}")
	never := "The RayJob ended as Failed before its job ran. SubmissionFailed: the submitter failed"
	for name, tc := range map[string]struct {
		status object
		error  object
		why    string
		want   string
	}{
		"being started":              {object{"jobDeploymentStatus": "Initializing"}, object{"reason": "CLUSTER_NOT_READY"}, "", "waiting"},
		"new":                        {nil, object{"reason": "JOB_NOT_STARTED"}, "", "waiting"},
		"failed before it ran":       {object{"jobDeploymentStatus": "Failed", "reason": "SubmissionFailed", "message": "the submitter failed"}, object{"reason": "JOB_NOT_STARTED"}, never, "none"},
		"its cluster never came":     {object{"jobDeploymentStatus": "Failed", "jobStatus": "NEW", "reason": "SubmissionFailed", "message": "the submitter failed"}, object{"reason": "CLUSTER_NOT_READY"}, never, "none"},
		"no reason is known":         {object{"jobDeploymentStatus": "ValidationFailed"}, object{"reason": "JOB_NOT_STARTED"}, "The RayJob ended as ValidationFailed before its job ran", "none"},
		"failed, and the API away":   {object{"jobDeploymentStatus": "Failed"}, object{"away": true}, "The RayJob ended as Failed before its job ran", "waiting"},
		"ran, the cluster restarts":  {object{"jobDeploymentStatus": "Failed", "jobStatus": "FAILED"}, object{"reason": "CLUSTER_NOT_READY"}, "", "waiting"},
		"ran, too many read":         {object{"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}, object{"code": 8}, "", "waiting"},
		"ran, the cluster is gone":   {object{"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, object{"reason": "CLUSTER_GONE", "code": 9}, "", "failed"},
		"never ran, nor may one see": {object{"jobDeploymentStatus": "Failed"}, object{"code": 7}, "The RayJob ended as Failed before its job ran", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			why := s.get("whyNone({status: of})", object{"of": tc.status, "error": tc.error}) // a page has a status of its own
			if tc.status == nil {
				why = s.get("whyNone({})", nil)
			}
			if why != tc.why {
				t.Errorf("there is no log because %q, want %q", why, tc.why)
			}
			if got := s.get("stateOf(error, code, why)", object{"why": why}); got != tc.want {
				t.Errorf("the log is %v, want %v", got, tc.want)
			}
		})
	}
}
