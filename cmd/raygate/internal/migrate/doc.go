// Package migrate looks at a Kubernetes cluster on which KubeRay runs, and says what raygate would find there: the CRDs, stored objects that today's
// rules warn about or refuse, the settings of the running operator, rights that are missing, and what the way back would change.
//
// It reads, and asks access reviews, which are not stored; it writes nothing. Objects are read in pages, and only counts and findings are kept.
package migrate
