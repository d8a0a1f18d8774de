// Package served is about kinds that a Kubernetes cluster may lack, such as those of OpenShift, cert-manager and batch schedulers: whether
// they are served, watches that start when they are first needed, and reads that never wait for a watch.
//
// KubeRay looks for them once at its start. Here an API may be installed later, a server that fails is an error and not an absence, and
// neither a server that hangs nor a missing right to list delays a reconcile of other objects.
package served
