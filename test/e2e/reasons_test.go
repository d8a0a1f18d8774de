package e2e

import (
	"slices"
	"strings"
)

// reason says why a program has rights that no case needs.
type reason struct {
	program, verb string
	// resources are those of rights without a case, as in batch/jobs. A right that is new has none until somebody thinks of it.
	resources []string
	why       string
}

var reasons = []reason{
	{"operator", "list", []string{
		"persistentvolumeclaims", "pods", "serviceaccounts", "services", "secrets", "batch/jobs", "discovery.k8s.io/endpointslices", "gateway.networking.k8s.io/gateways",
		"gateway.networking.k8s.io/grpcroutes", "gateway.networking.k8s.io/httproutes", "networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies",
		"policy/poddisruptionbudgets", "ray.io/rayclusters", "ray.io/raycronjobs", "ray.io/rayjobs",
		"ray.io/rayservices", "rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/roles",
		"resource.k8s.io/deviceclasses", "resource.k8s.io/resourceclaims", "resource.k8s.io/resourceclaimtemplates",
	}, "caches, where the API server has no streaming lists"},
	{"gateway", "list", []string{"ray.io/rayclusters", "ray.io/raycronjobs", "ray.io/rayjobs", "ray.io/rayservices"}, "caches, where the API server has no streaming lists"},
	{"gateway", "get", []string{"ray.io/rayclusters", "ray.io/raycronjobs", "ray.io/rayjobs", "ray.io/rayservices"}, "callers act as the gateway with `--authentication=none`"},
	{"gateway", "get", []string{"pods"}, "the address of a head, where dashboards are reached without `--use-kubernetes-proxy`; test/attack has it"},
	{"operator", "get", []string{
		"persistentvolumeclaims", "pods", "serviceaccounts", "gateway.networking.k8s.io/gateways", "gateway.networking.k8s.io/httproutes",
		"networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies", "policy/poddisruptionbudgets", "ray.io/rayjobs",
		"rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/roles",
	}, "reads past a cache that is behind, as after a create whose name is taken"},
	{"operator", "get", []string{"resource.k8s.io/resourceclaims"}, sharedClaims}, {"operator", "watch", []string{"resource.k8s.io/resourceclaims"}, sharedClaims},
	{"operator", "delete", []string{
		"serviceaccounts", "secrets", "gateway.networking.k8s.io/gateways", "gateway.networking.k8s.io/httproutes", "networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies",
		"policy/poddisruptionbudgets", "rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/roles",
	}, "children that a spec no longer asks for"},
	{"operator", "delete", []string{"ray.io/rayjobs"}, "RayJobs whose deletion policy is DeleteSelf"},
	{"operator", "patch", []string{
		"persistentvolumeclaims", "serviceaccounts", "gateway.networking.k8s.io/gateways", "networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies",
		"policy/poddisruptionbudgets", "rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/roles",
	}, "children that somebody changed"},
	{"operator", "create", []string{"pods/eviction", "policy/poddisruptionbudgets"}, "clusters with a disruption budget; the tests of the controller of RayClusters have it"},
	{"operator", "patch", []string{"secrets"}, "tokens that somebody changed, and owners of what cert-manager filled"},
	{"operator", "patch", []string{"batch/jobs"}, "submitters of KubeRay, which have no label of their cluster; TestMoveAndBack has them"},
	{"operator", "patch", []string{"events.k8s.io/events"}, "events that happen again"},
	{"operator", "patch", []string{"pods/resize"}, "handed on to the Role of the autoscaler: nobody may grant what they do not have"},
	{"operator", "update", []string{"ray.io/rayclusters/finalizers", "ray.io/raycronjobs/finalizers", "ray.io/rayjobs/finalizers", "ray.io/rayservices/finalizers"},
		"owner references that block deletion, where OwnerReferencesPermissionEnforcement is on"},
	{"operator", "create", certManager, mTLS}, {"operator", "delete", certManager, mTLS}, {"operator", "get", certManager, mTLS}, {"operator", "list", certManager, mTLS},
	{"operator", "patch", certManager, mTLS}, {"operator", "watch", certManager, mTLS},
}

const sharedClaims = "claims that several Pods share; the tests of the controller of RayClusters have it"

const mTLS = "certificates of a cluster, where cert-manager is installed; the tests of the controller of mTLS have it"

var certManager = []string{"cert-manager.io/certificates", "cert-manager.io/issuers"}

// reasonOf is empty for a right that must have a case.
func reasonOf(u right) string {
	for _, r := range reasons {
		if r.program == u.program && r.verb == u.verb && slices.Contains(r.resources, strings.TrimPrefix(u.group+"/"+u.resource, "/")) {
			return r.why
		}
	}
	return ""
}
