// Package v1 holds the storage version of the ray.io API: RayCluster, RayJob, RayService and RayCronJob.
//
// The JSON form is a wire contract shared with KubeRay 1.7 and its clients: names, defaults, enums and the presence or
// absence of omitempty are all part of it. The package stands apart from the operator because gateways, validators and
// users' own programs import it; it therefore depends on k8s.io/api and k8s.io/apimachinery only and must not learn
// about controllers, clients or feature gates.
//
// +kubebuilder:object:generate=true
// +groupName=ray.io
package v1
