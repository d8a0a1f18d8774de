// Package simulation runs the real controllers in a closed loop: reconcilers, planners, trackers, pollers, predicates and watches of one process
// against a model of everything around them, with a clock that moves when everybody waits (testing/synctest). Nodes start, kill and lose Pods, a
// controller of Jobs runs submitters, endpoints lag, Ray runs jobs and Serve, a Gateway is programmed, users edit, suspend, delete and recreate, the
// API server refuses, conflicts and loses answers, and the operator is killed and replaced.
//
// All choices come from one seed. Each choice is drawn from a stream of its own name, so that a step that is left out of a history leaves the others
// as they were: that makes histories shrink. After the last disturbance the world has a bounded time to reach its end, and invariants hold it to
// what users count on.
//
// The simulation is a test and no part of the operator.
package simulation
