// Package serveplan decides the next actions for a RayService: the cluster to create, change or delete, the cluster that gets the
// Serve configuration, the targets of the Services, and the next step of an incremental upgrade. It is pure and separate from the
// controller, so that tests can cover each life cycle with a table.
//
// The file table.go has the life cycle: phases, and rules that lead from one to the next. upgrade.go has the rules of an incremental
// upgrade. All other parts of a plan are derived from the phase that results.
//
// The status follows observations, never requests. A cluster is active once the Services select it, a capacity counts once Ray
// reports it, and a share of traffic counts once it is in the HTTPRoute. So an operator that is killed between two writes computes
// the remaining actions. The exception is the name of a new cluster, which is in the status before the object exists.
//
// The rules are those of KubeRay 1.7 with these deliberate differences:
//
//   - A failure at one cluster does not block the other one, and the status is always written.
//   - Traffic is switched to a new cluster when one of its Pods can serve requests, not when its applications run.
//   - A change of the spec back to that of the active cluster ends an upgrade instead of starting another.
//   - With the strategy None the first cluster can be replaced until one has served. Otherwise an error in it could never be
//     repaired.
//   - A cluster that is being deleted counts as deleted.
//   - An incremental upgrade waits for the effect of each step: until Ray reports the new capacity and has the replicas, and until
//     the Gateway has accepted the HTTPRoute. Its messages name what it waits for. If one of the two clusters fails, all traffic
//     goes to the other one.
//   - During a rollback no cluster gets less capacity than it has traffic.
//   - Annotations pause an upgrade, hold it at a share of the traffic, and abort it. A pause moves traffic only if one of the clusters
//     serves nothing.
package serveplan
