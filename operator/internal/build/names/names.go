// Package names derives the names of all objects of a RayCluster.
//
// The names are a contract: clients, dashboards and running clusters depend on them, so these rules never change. Builders, the
// Pod plan and the controllers share the package, because they must not import each other.
package names

import (
	"cmp"
	"strconv"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// DefaultClusterDomain is the default DNS domain of Services.
const DefaultClusterDomain = "cluster.local"

// HeadPodPrefix returns the generateName of the head Pod, for example demo-head-.
func HeadPodPrefix(cluster string) string { return HeadPod(cluster) + "-" }

// HeadPod returns the name of the head Pod with deterministic head names, for example demo-head. Names of clusters collide if
// their first 50 characters are equal.
func HeadPod(cluster string) string {
	return strings.ToLower(keepFirst(cluster, maxPodPrefix) + "-head")
}

// WorkerPodPrefix returns the generateName of the workers of a group, for example demo-small-worker-. It is in lower case even if
// the name of the group is not.
func WorkerPodPrefix(cluster, group string) string {
	return strings.ToLower(keepFirst(cluster+"-"+group, maxPodPrefix) + "-worker-")
}

// Identifier returns the value of the label ray.io/identifier.
func Identifier(cluster string, node rayv1.RayNodeType) string {
	return LabelValue(cluster + "-" + string(node))
}

// HeadService returns the name of the head Service: the one in spec.headGroupSpec.headService, else for example demo-head-svc.
func HeadService(rc *rayv1.RayCluster) string {
	if svc := rc.Spec.HeadGroupSpec.HeadService; svc != nil && svc.Name != "" {
		return svc.Name
	}
	return rc.Name + "-head-svc"
}

// HeadHost returns the full DNS name of the head Service. An empty domain means DefaultClusterDomain.
func HeadHost(rc *rayv1.RayCluster, domain string) string {
	return HeadService(rc) + "." + rc.Namespace + ".svc." + cmp.Or(domain, DefaultClusterDomain)
}

// HeadPort returns the port of the GCS as text: the unchanged start parameter "port" of the head, else 6379.
func HeadPort(rc *rayv1.RayCluster) string {
	if port, ok := rc.Spec.HeadGroupSpec.RayStartParams["port"]; ok {
		return port
	}
	return strconv.Itoa(int(rayv1.DefaultGCSServerPort))
}

// HeadAddress returns the address that workers join: HeadHost and HeadPort, separated by a colon.
func HeadAddress(rc *rayv1.RayCluster, domain string) string {
	return HeadHost(rc, domain) + ":" + HeadPort(rc)
}

// ServeService returns the name of the Service for Ray Serve.
func ServeService(cluster string) string { return cluster + "-serve-svc" }

// HeadlessService returns the name of the headless Service of multi-host workers.
func HeadlessService(cluster string) string { return cluster + "-headless" }

// HeadIngress returns the name of the Ingress for the dashboard.
func HeadIngress(cluster string) string { return Name(cluster + "-head-ingress") }

// HeadRoute returns the name of the OpenShift Route for the dashboard. Unlike Name it keeps the beginning, to at most 51
// characters minus the length of the namespace, because both share one label of the host name. If the namespace leaves no room,
// the name is "r".
func HeadRoute(cluster, namespace string) string {
	return cmp.Or(Name(keepFirst(cluster+"-head-route", maxRouteHost-len(namespace))), "r")
}

// ServiceAccount returns the name of the autoscaler's ServiceAccount: the one in the head template, else the cluster's name.
// KubeRay clips the user's name too, to one that does not exist.
func ServiceAccount(rc *rayv1.RayCluster) string {
	return cmp.Or(rc.Spec.HeadGroupSpec.Template.Spec.ServiceAccountName, Name(rc.Name))
}

// Role returns the name of the autoscaler's Role and RoleBinding.
func Role(cluster string) string { return Name(cluster) }

// AuthSecret returns the name of the Secret with the token that the operator creates.
func AuthSecret(cluster string) string { return Name(cluster) }

// HeadTLSSecret returns the name of the Secret with the certificate of the head.
func HeadTLSSecret(cluster string) string { return "ray-head-secret-" + cluster }

// WorkerTLSSecret returns the name of the Secret with the certificate that all workers share.
func WorkerTLSSecret(cluster string) string { return "ray-worker-secret-" + cluster }

// GCSClaim returns the name of the PersistentVolumeClaim that the operator creates for the embedded GCS store.
func GCSClaim(cluster string) string { return cluster + "-gcs-pvc" }

// RedisCleanupJob returns the name of the Job that cleans up Redis after the cluster's deletion.
func RedisCleanupJob(cluster string) string { return LabelValue(cluster + "-redis-cleanup") }

// HeadNetworkPolicy returns the name of the NetworkPolicy of the head.
func HeadNetworkPolicy(cluster string) string { return cluster + "-head" }

// WorkersNetworkPolicy returns the name of the NetworkPolicy of a worker group.
func WorkersNetworkPolicy(cluster, group string) string { return cluster + "-workers-" + group }

// HeadDisruptionBudget returns the name of the PodDisruptionBudget of the head.
func HeadDisruptionBudget(cluster string) string { return cluster + "-head" }

// WorkersDisruptionBudget returns the name of the PodDisruptionBudget of a worker group.
func WorkersDisruptionBudget(cluster, group string) string { return cluster + "-workers-" + group }

// CreatorKind returns the kind of the resource for which the cluster was created: RayJob or RayService, else RayCluster.
func CreatorKind(rc *rayv1.RayCluster) string {
	switch kind := rc.Labels[rayv1.LabelOriginatedFromCRD]; kind {
	case "RayJob", "RayService":
		return kind
	default:
		return "RayCluster"
	}
}

// SelfSignedIssuer returns the name of the issuer that signs the CA of the cluster.
func SelfSignedIssuer(cluster string) string { return "ray-selfsigned-issuer-" + cluster }

// AuthorityCertificate returns the name of the CA's Certificate.
func AuthorityCertificate(cluster string) string { return "ray-ca-certificate-" + cluster }

// AuthorityIssuer returns the name of the issuer that signs for the head and the workers.
func AuthorityIssuer(cluster string) string { return "ray-ca-issuer-" + cluster }

// AuthoritySecret returns the name of the Secret with the CA's key. It contains the beginning of the UID, so that a recreated
// cluster does not trust its predecessor.
func AuthoritySecret(rc *rayv1.RayCluster) string {
	return rc.Name + "-ca-secret-" + keepFirst(string(rc.UID), 8)
}

// HeadCertificate returns the name of the head's Certificate.
func HeadCertificate(cluster string) string { return "ray-head-cert-" + cluster }

// WorkerCertificate returns the name of the Certificate that all workers share.
func WorkerCertificate(cluster string) string { return "ray-worker-cert-" + cluster }

// Attempt returns the name of a RayCluster of a RayJob or RayService, and the id of the Ray job of one attempt of a RayJob, for
// example demo-x7k2p. The suffix is random, so that an attempt never collides with remains of an earlier one.
func Attempt(owner, suffix string) string { return owner + "-" + suffix }

// CurrentHeadService returns the name of the Service for the head of the current cluster of a RayJob or RayService.
func CurrentHeadService(owner string) string { return owner + "-head-svc" }

// ServiceServeService returns the name of the Service that clients of a RayService call: the one in its template, else for example
// demo-serve-svc.
func ServiceServeService(rs *rayv1.RayService) string {
	if t := rs.Spec.ServeService; t != nil && t.Name != "" {
		return t.Name
	}
	return ServeService(rs.Name)
}

// ServiceGateway returns the name of the Gateway of a RayService with incremental upgrades.
func ServiceGateway(rs string) string { return rs + "-gateway" }

// ServiceRoute returns the name of the HTTPRoute that splits requests between two clusters.
func ServiceRoute(rs string) string { return rs + "-httproute" }

// ServiceGRPCRoute returns the name of the GRPCRoute that does so with gRPC requests.
func ServiceGRPCRoute(rs string) string { return rs + "-grpcroute" }
