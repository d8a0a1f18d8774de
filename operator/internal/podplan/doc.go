// Package podplan decides which Pods of a RayCluster to create, delete and keep, from the spec and the observed Pods, and computes
// the totals of the spec. It is pure and separate from the controller, so that tests can cover scaling, failures and suspension
// with a table.
//
// The rules are those of KubeRay 1.7 with these deliberate differences. Each makes a cluster recover sooner or protects objects of
// other owners:
//
//   - A Pod belongs to the cluster if the cluster is its controller by UID, besides the labels. No other Pod is counted or
//     deleted, even if scaleStrategy.workersToDelete contains it.
//   - A worker that is being deleted no longer counts, so its replacement is created at once. Heads differ: two heads must never
//     run at the same time.
//   - The deletion of a worker does not delay other groups or its own replacement.
//   - Workers of groups that are no longer in the spec are deleted.
//   - A group removes the least valuable workers first.
//   - A multi-host replica that a quota cut short is completed instead of recreated, its successor does not get the index of hosts
//     that still run, and Pods without a replica name count.
//   - Under the upgrade strategy Recreate, workers have the spec's hash too, since they can outlive the head.
package podplan
