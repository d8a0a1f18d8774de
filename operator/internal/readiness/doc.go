// Package readiness derives the conditions Ready, Reconciling and Stalled from a status that is otherwise complete. kstatus, and with it
// Flux, Helm and Crossplane, judge an object by them, in this order:
//
//	deleted                               Terminating
//	observedGeneration is not generation  InProgress
//	Reconciling is True                   InProgress
//	Stalled is True                       Failed
//	Ready is False                        InProgress
//	otherwise                             Current
//
// Waiting for a node, a queue or a quota is progress. Stalled needs a person.
//
// An object that is suspended on purpose is settled, but kubectl wait --for=condition=Ready must not succeed for it. It therefore has no
// condition Ready, which is Current for kstatus. An object that Kueue suspends waits for a queue. Ready of a RayService is KubeRay's
// and stays False while the service is suspended, so kstatus alone reports InProgress for it.
//
// The package is pure. It is apart from the controllers because one table holds all kinds to the same answers.
package readiness
