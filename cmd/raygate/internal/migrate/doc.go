// Package migrate checks a Kubernetes cluster with KubeRay for a migration to raygate. It reports the CRDs, stored objects that today's
// rules warn about or refuse, the settings of the running operator, missing rights, and changes on the way back.
//
// It reads, and creates access reviews, which are not stored; it writes nothing. It reads objects in pages and only keeps counts and
// findings.
package migrate
