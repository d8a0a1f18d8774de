// Package podplan decides which Pods of a RayCluster to create, delete and keep, from the spec and the Pods that were
// observed, and sums up what the spec asks for. It is a pure decision apart from the controller, so that every story of
// scaling, failing and suspending is a line in a table, and so that it cannot do anything.
//
// The rules are KubeRay's 1.7 with these deliberate differences, each of which makes a cluster recover sooner or keeps it
// from touching what is not its own:
//
//   - A Pod belongs to the cluster when the cluster is its controller by UID, besides the labels. Nothing else is counted
//     or deleted, also when scaleStrategy.workersToDelete names it.
//   - A worker that is being deleted no longer counts, so its replacement does not wait until it is gone. The head is
//     different: two heads must never run at once.
//   - A worker that has to go does not keep other groups, or its own replacement, waiting for another round.
//   - Workers of groups that are no longer in the spec are deleted.
//   - A group shrinks by the workers that matter least.
//   - A replica of several hosts that was cut short by a quota is finished instead of made anew, its successor does not get
//     the index of hosts that still run, and Pods from before replicas had names count.
//   - Under the upgrade strategy Recreate workers tell what they were made from, too, since they can outlive the head.
package podplan
