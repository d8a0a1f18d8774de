// Package simulation runs the real controllers in a closed loop: reconcilers, planners, trackers, pollers, predicates and watches
// of one process, against a model of their environment. The clock advances when all goroutines wait (testing/synctest). Nodes
// start, kill and lose Pods, a controller of Jobs runs submitters, endpoints lag, Ray runs jobs and Serve, and a Gateway is
// programmed. Users edit, suspend, delete and recreate objects. The API server rejects requests, reports conflicts and loses
// responses, and the operator is killed and replaced.
//
// All random choices come from one seed. Each is drawn from a stream of its own name, so that a step can be left out of a history
// without a change of the others; that makes histories shrinkable. After the last disturbance the world has a limited time to
// reach its final state, and invariants check what users rely on.
//
// The simulation is a test and not part of the operator.
package simulation
