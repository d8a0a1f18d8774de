package names

import (
	"cmp"
	"strconv"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// DefaultClusterDomain is the DNS domain of Services when nothing else is configured.
const DefaultClusterDomain = "cluster.local"

// HeadPodPrefix is the generateName of the head Pod: demo-head-.
func HeadPodPrefix(cluster string) string { return HeadPod(cluster) + "-" }

// HeadPod is the name of the head Pod when the operator runs with deterministic head names: demo-head. Clusters whose
// names share their first 50 characters collide.
func HeadPod(cluster string) string {
	return strings.ToLower(keepFirst(cluster, maxPodPrefix) + "-head")
}

// WorkerPodPrefix is the generateName of the workers of a group: demo-small-worker-. It is in lower case even when the
// name of the group is not.
func WorkerPodPrefix(cluster, group string) string {
	return strings.ToLower(keepFirst(cluster+"-"+group, maxPodPrefix) + "-worker-")
}

// Identifier is the value of the label ray.io/identifier.
func Identifier(cluster string, node rayv1.RayNodeType) string {
	return LabelValue(cluster + "-" + string(node))
}

// HeadService is the name of the head Service: the one the user gave in spec.headGroupSpec.headService, else demo-head-svc.
func HeadService(rc *rayv1.RayCluster) string {
	if svc := rc.Spec.HeadGroupSpec.HeadService; svc != nil && svc.Name != "" {
		return svc.Name
	}
	return rc.Name + "-head-svc"
}

// HeadHost is the full DNS name of the head Service. An empty domain means DefaultClusterDomain.
func HeadHost(rc *rayv1.RayCluster, domain string) string {
	return HeadService(rc) + "." + rc.Namespace + ".svc." + cmp.Or(domain, DefaultClusterDomain)
}

// HeadPort is the port of the GCS as text: the start parameter port of the head as it stands, else 6379.
func HeadPort(rc *rayv1.RayCluster) string {
	if port, ok := rc.Spec.HeadGroupSpec.RayStartParams["port"]; ok {
		return port
	}
	return strconv.Itoa(int(rayv1.DefaultGCSServerPort))
}

// HeadAddress is HeadHost and HeadPort joined by a colon: what workers join.
func HeadAddress(rc *rayv1.RayCluster, domain string) string {
	return HeadHost(rc, domain) + ":" + HeadPort(rc)
}

// ServeService is the name of the Service for Ray Serve.
func ServeService(cluster string) string { return cluster + "-serve-svc" }

// HeadlessService is the name of the headless Service of multi-host workers.
func HeadlessService(cluster string) string { return cluster + "-headless" }

// HeadIngress is the name of the Ingress for the dashboard.
func HeadIngress(cluster string) string { return Name(cluster + "-head-ingress") }

// HeadRoute is the name of the OpenShift Route for the dashboard. Unlike Name it keeps the beginning, to at most 51
// characters less the length of the namespace, because both share one label of the host name. For a namespace so long
// that nothing is left the name is just "r".
func HeadRoute(cluster, namespace string) string {
	return cmp.Or(Name(keepFirst(cluster+"-head-route", maxRouteHost-len(namespace))), "r")
}

// ServiceAccount is the name of the ServiceAccount of the autoscaler: the one of the head template, else the cluster's name.
// KubeRay clips the user's name too, to one that does not exist.
func ServiceAccount(rc *rayv1.RayCluster) string {
	return cmp.Or(rc.Spec.HeadGroupSpec.Template.Spec.ServiceAccountName, Name(rc.Name))
}

// Role is the name of the Role and of the RoleBinding of the autoscaler.
func Role(cluster string) string { return Name(cluster) }

// AuthSecret is the name of the Secret with the token that the operator makes.
func AuthSecret(cluster string) string { return Name(cluster) }

// HeadTLSSecret is the name of the Secret with the certificate of the head.
func HeadTLSSecret(cluster string) string { return "ray-head-secret-" + cluster }

// WorkerTLSSecret is the name of the Secret with the certificate that all workers share.
func WorkerTLSSecret(cluster string) string { return "ray-worker-secret-" + cluster }

// GCSClaim is the name of the PersistentVolumeClaim that the operator makes for the embedded GCS store.
func GCSClaim(cluster string) string { return cluster + "-gcs-pvc" }

// RedisCleanupJob is the name of the Job that empties Redis after the cluster.
func RedisCleanupJob(cluster string) string { return LabelValue(cluster + "-redis-cleanup") }

// HeadNetworkPolicy is the name of the NetworkPolicy of the head.
func HeadNetworkPolicy(cluster string) string { return cluster + "-head" }

// WorkersNetworkPolicy is the name of the NetworkPolicy of a worker group.
func WorkersNetworkPolicy(cluster, group string) string { return cluster + "-workers-" + group }

// CreatorKind is the kind of the resource that the cluster was made for, RayJob or RayService, else RayCluster.
func CreatorKind(rc *rayv1.RayCluster) string {
	switch kind := rc.Labels[rayv1.LabelOriginatedFromCRD]; kind {
	case "RayJob", "RayService":
		return kind
	default:
		return "RayCluster"
	}
}

// SelfSignedIssuer is the name of the issuer that signs the authority of the cluster.
func SelfSignedIssuer(cluster string) string { return "ray-selfsigned-issuer-" + cluster }

// AuthorityCertificate is the name of the Certificate of the authority.
func AuthorityCertificate(cluster string) string { return "ray-ca-certificate-" + cluster }

// AuthorityIssuer is the name of the issuer that signs for the head and the workers.
func AuthorityIssuer(cluster string) string { return "ray-ca-issuer-" + cluster }

// AuthoritySecret is the name of the Secret with the key of the authority. The beginning of the UID keeps a cluster made
// anew from trusting its predecessor.
func AuthoritySecret(rc *rayv1.RayCluster) string {
	return rc.Name + "-ca-secret-" + keepFirst(string(rc.UID), 8)
}

// HeadCertificate is the name of the Certificate of the head.
func HeadCertificate(cluster string) string { return "ray-head-cert-" + cluster }

// WorkerCertificate is the name of the Certificate that all workers share.
func WorkerCertificate(cluster string) string { return "ray-worker-cert-" + cluster }

// JobAttempt is the name of the RayCluster of one attempt at a RayJob, and the id of the Ray job: demo-x7k2p. The suffix is
// random, so that an attempt never meets what is left of the one before.
func JobAttempt(job, suffix string) string { return job + "-" + suffix }

// JobHeadService is the name of the Service that leads to the head of whatever cluster a RayJob has.
func JobHeadService(job string) string { return job + "-head-svc" }

// ServiceCluster is the name of a RayCluster that a RayService makes: demo-x7k2p.
func ServiceCluster(rs, suffix string) string { return rs + "-" + suffix }

// ServiceHeadService is the name of the Service that leads to the head of the cluster that a RayService uses.
func ServiceHeadService(rs string) string { return rs + "-head-svc" }

// ServiceServeService is the name of the Service that users of a RayService call: the one of its template, else demo-serve-svc.
func ServiceServeService(rs *rayv1.RayService) string {
	if t := rs.Spec.ServeService; t != nil && t.Name != "" {
		return t.Name
	}
	return ServeService(rs.Name)
}

// ServiceGateway is the name of the Gateway that takes the requests of users where upgrades go in steps.
func ServiceGateway(rs string) string { return rs + "-gateway" }

// ServiceRoute is the name of the HTTPRoute that splits these requests between two clusters.
func ServiceRoute(rs string) string { return rs + "-httproute" }
