// Package serveplan decides what happens next to a RayService: which cluster is made, changed or deleted, which gets the Serve
// configuration, where the Services lead and how an upgrade in steps goes on. It goes by what was observed and by the status, and is a
// pure decision apart from the controller, so that every story is a line in a table.
//
// The status follows what was observed and never what was merely asked for: a cluster counts as active once the Services lead to it, a
// capacity once Ray tells of it, a share of the traffic once it stands in the HTTPRoute. So an operator that is killed between any two
// writes computes what is left to do. The exception is the name of a new cluster, which is in the status before there is an object.
//
// The rules are KubeRay's 1.7 with these deliberate differences:
//
//   - What fails about one cluster keeps nothing from the other, and the status is always written.
//   - Traffic is switched to a new cluster when a Pod of it can take requests, and not because its applications run.
//   - A spec that goes back to that of the active cluster ends an upgrade, instead of beginning another.
//   - With the strategy None the first cluster can be replaced until one has served: else a mistake could never be repaired.
//   - A cluster that is being deleted counts as gone.
//   - An upgrade in steps waits for what it did to have its effect: for Ray to tell of the new capacity and to have the replicas, and for
//     the Gateway to have accepted the HTTPRoute. Its messages say what it waits for. If the new cluster dies, or the old one, the traffic
//     goes to the one that is left.
//   - In a rollback no cluster gets less capacity than it has traffic.
package serveplan
