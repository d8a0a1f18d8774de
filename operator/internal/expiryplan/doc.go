// Package expiryplan decides when a RayCluster is suspended or deleted because nothing has run on it for long, or because it is old. It is
// pure and separate from the controller.
//
//   - A cluster is idle only while its dashboard says so. If it is not known what runs, the time does not count: after a minute without
//     an answer it starts again.
//   - Each cluster is warned first: a tenth of the limit before, at most five minutes. This also holds if the operator was away when the
//     warning was due.
//   - A schedule suspends a cluster as soon as nothing runs, or after a grace that its user chose. A suspension that could not happen for
//     twelve hours, or until the next resumption by a schedule, is dropped.
//   - A user who keeps a cluster wins over every limit and schedule, within the bound of the policy.
//   - The decision is stored in the condition Expired before it is carried out, so that the reason is known after a crash as well.
//   - Clusters with a controller or a queue of Kueue are left alone: RayJob, RayService and Kueue decide when theirs are suspended. The
//     cluster of an interactive RayJob is no exception to its user, who submits to it as to any cluster. Its RayJob must know of the
//     decision first, so that it neither recreates the cluster nor fails without a reason.
package expiryplan
