// Package jobplan decides what happens next to a RayJob: from its spec and status, from what was observed of its cluster, its
// submitter and its Ray job, and from the time. It is a pure decision apart from the controller, so that every story of a job
// is a line in a table, and so that it cannot do anything.
//
// The life cycle is a table: per state a list of rules, of which the first that holds decides. Actions of a Plan are carried
// out before its status is saved, and each may be carried out again: an operator that is killed in between computes the same
// plan once more.
//
// The rules are KubeRay's 1.7 with these deliberate differences:
//
//   - What Ray says about a job counts for more than what became of its submitter, and a final state of Ray is never
//     overwritten. Deadlines and grace periods fire only after this process has asked Ray, so that an operator that comes late does
//     not fail a job that succeeded.
//   - A job that goes on after its submitter is followed to its own end, however the submitter ended: its connection to the
//     log may have been cut. KubeRay fails it after 30 seconds, for which there is a limit.
//   - A job that Ray had a record of and has no more ends, instead of running for ever. In K8sJobMode the submitter has some time to submit it again,
//     as with KubeRay: it does so whenever Kubernetes restarts it, and to fail the job before it has would be a matter of luck.
//   - An attempt that is given up ends when nothing can run or submit its job any more: Ray has stopped it, or its submitter is gone and Ray does
//     not have it. The same goes for the deletion of a RayJob whose cluster stays. Each of it is limited in time.
//   - A Ray job is asked to stop before a RayJob is suspended or is deleted.
//   - A spec that is invalid in a running job can be repaired; the life cycle goes on where it was. States at the end are not
//     validated, so that clean-up goes on.
//   - Waiting honours suspend and the active deadline, and an ended sidecar is noticed before its cluster is ready.
//   - A RayCluster that is deleted under a running job ends the attempt; it is not made anew without the job. A sidecar whose head is replaced
//     before the cluster was ever complete would run the job again, so that its cluster goes with the attempt.
//   - Attempts that fail within seconds are spaced out.
//   - Clean-up goes by the outcome of the RayJob where Ray's state was never final, and DeleteSelf works with clusterSelector.
//
// Whatever a limit counts from is a deadline of the spec, or since when this process knows something. The clocks of heads, kubelets and controllers are not
// compared with each other.
package jobplan
