// Package served deals with kinds that a Kubernetes cluster may lack, such as those of OpenShift, cert-manager and batch
// schedulers: whether they are served, watches that start when they are first needed, and reads that never wait for a watch.
//
// KubeRay looks for them once at its start: an API installed later is not found, and one whose server is away for a moment
// counts as absent. Here absence is looked at again after a while, and a failing server is an error and not an absence. A
// server that hangs, or a missing right to list, holds up neither a reconcile nor the manager.
package served
