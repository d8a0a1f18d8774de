// Package apis deals with kinds that a Kubernetes cluster may lack, such as those of OpenShift and cert-manager: whether they
// are served, and a cache and watches that start when they are first needed.
//
// KubeRay samples this once at its start: an API installed later is not found, and one whose server is away for a moment
// counts as absent. Here absence is looked at again after a while, and a failing server is an error and not an absence.
package apis
