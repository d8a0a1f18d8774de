// Package jobplan decides the next action and state of a RayJob from its spec, its status, the observed cluster, submitter and Ray
// job, and the time. It is pure and separate from the controller, so that tests can cover each life cycle with a table.
//
// The life cycle is a table: a list of rules per state, in which the first matching rule decides. The controller runs the actions
// of a Plan before it saves the status. All actions are idempotent: after a restart in between, the operator computes the same
// plan again.
//
// The rules are those of KubeRay 1.7 with these deliberate differences:
//
//   - The state of a job in Ray takes precedence over the result of its submitter, and a final state in Ray is never overwritten.
//     Deadlines and grace periods take effect only after this process has queried Ray, so that an operator that was down does not
//     fail a job that succeeded.
//   - A job that still runs after its submitter has ended is followed to its end, because its connection to the log may have failed.
//     KubeRay fails it after 30 seconds; here a configurable limit applies.
//   - A job whose record in Ray has disappeared ends instead of running forever. In K8sJobMode the submitter first has some time
//     to submit it again, as in KubeRay: it does so whenever Kubernetes restarts it.
//   - An attempt that is given up ends only when its job can no longer run or be submitted: Ray has stopped it, or its submitter
//     is gone and Ray does not have the job. The same applies to the deletion of a RayJob whose cluster stays. Each wait is
//     limited.
//   - Ray is requested to stop a job before its RayJob is suspended or deleted.
//   - An invalid spec of a running job can be repaired; the life cycle then continues where it was. Terminal states are not
//     validated, so that cleanup always continues.
//   - Waiting states respect suspend and the active deadline, and the end of a sidecar is detected before its cluster is ready.
//   - The deletion of the RayCluster of a running job ends the attempt; the cluster is not recreated without the job. If a head
//     with a sidecar is replaced before the cluster was ever complete, the job would run again, so the cluster is deleted with the
//     attempt.
//   - Attempts that fail within seconds are delayed. An annotation keeps a healthy cluster for the next attempt.
//   - Cleanup uses the outcome of the RayJob if Ray's state was never final, and DeleteSelf works with clusterSelector.
//
// Limits count from a deadline in the spec or from an observation of this process. Clocks of heads, kubelets and controllers are
// not compared with each other.
package jobplan
