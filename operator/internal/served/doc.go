// Package served handles kinds that a Kubernetes cluster may lack, such as those of OpenShift, cert-manager and batch schedulers:
// it checks whether they are served, starts watches when they are first needed, and reads without waiting for a watch.
//
// KubeRay checks once at its start. Here an API may be installed later, and a failing server is an error, not an absence. Neither
// a hanging server nor a missing permission to list delays reconciles of other objects.
package served
