package pod

import (
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/pkg/devices/claims"
)

// Variables of a host in a slice of TPUs, which libtpu, JAX and Ray read.
const (
	envTPUWorkerID        = "TPU_WORKER_ID"
	envTPUWorkerHostnames = "TPU_WORKER_HOSTNAMES"
	envTPUName            = "TPU_NAME"
	envTPUTopology        = "TPU_TOPOLOGY"
)

// Names of GKE: the node selector with the topology of a slice, and the label of nodes by which a slice is one pool of nodes.
const (
	gkeTopology = "cloud.google.com/gke-tpu-topology"
	gkeNodePool = "cloud.google.com/gke-nodepool"
)

// Slice describes the slices of TPUs of a group, each of which is a replica.
type Slice struct {
	// Group is the name of the group.
	Group string
	// Hosts is the number of Pods of a slice, at least 1.
	Hosts int
	// Subdomain is the name of the headless Service.
	Subdomain string
}

// SliceOf returns the slices of the group; nil unless o.TPUEnvironment is on and the Ray container requests TPUs. Groups of several hosts
// whose template has a host name or a subdomain are left to their users.
func SliceOf(rc *rayv1.RayCluster, g *rayv1.WorkerGroupSpec, o Options) *Slice {
	spec := &g.Template.Spec
	if !o.For(rc).TPUEnvironment || len(spec.Containers) == 0 {
		return nil
	}
	limit := spec.Containers[0].Resources.Limits[resources.TPU]
	claimed := o.Claims[g.GroupName]
	if limit.IsZero() && (claimed == nil || claimed.Ray[claims.TPU] == 0) {
		return nil
	}
	hosts := int(max(1, g.NumOfHosts))
	if hosts > 1 && (spec.Hostname != "" || spec.Subdomain != "") {
		return nil
	}
	return &Slice{Group: g.GroupName, Hosts: hosts, Subdomain: names.HeadlessService(rc.Name)}
}

// complete writes on p its rank and the names of the hosts of its slice. Variables of the user stay. The name of a slice is that of its
// replica and not of its index, so that a new slice never has the name of one that is still ending.
func (s *Slice) complete(p *corev1.Pod, r Replica) {
	ray := environment{&p.Spec.Containers[0].Env}
	if topology := p.Spec.NodeSelector[gkeTopology]; topology != "" {
		ray.setDefault(text(envTPUTopology, topology))
	}
	if s.Hosts == 1 {
		ray.setDefault(text(envTPUName, hostName(s.Group+"-"+strconv.Itoa(r.Index))))
		ray.setDefault(text(envTPUWorkerID, "0"))
		ray.setDefault(text(envTPUWorkerHostnames, "localhost"))
		return
	}
	if r.Name == "" {
		return
	}
	name := hostName(r.Name)
	hosts := make([]string, s.Hosts)
	for i := range hosts {
		hosts[i] = name + "-" + strconv.Itoa(i) + "." + s.Subdomain
	}
	p.Spec.Hostname, p.Spec.Subdomain = name+"-"+strconv.Itoa(r.Host), s.Subdomain
	ray.setDefault(text(envTPUName, name))
	ray.setDefault(text(envTPUWorkerID, strconv.Itoa(r.Host)))
	ray.setDefault(text(envTPUWorkerHostnames, strings.Join(hosts, ",")))
	if p.Spec.NodeSelector[gkeTopology] != "" {
		placeTogether(&p.Spec, r.Name)
	}
}

var notInHostName = regexp.MustCompile(`[^a-z0-9-]+`)

// maxHostName is the length of a host name without the index of the host, which has at most four digits.
const maxHostName = 63 - len("-9999")

// hostName returns the name as a DNS label with room for the index of a host. It keeps the last characters, which distinguish replicas.
func hostName(name string) string {
	name = notInHostName.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[max(0, len(name)-maxHostName):], "-")
}

// placeTogether puts the hosts of a slice into one pool of nodes, and no other slice there. GKE makes a pool for each slice of several hosts.
func placeTogether(s *corev1.PodSpec, replica string) {
	term := func(op metav1.LabelSelectorOperator) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{TopologyKey: gkeNodePool, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: rayv1.LabelWorkerGroupReplicaName, Operator: metav1.LabelSelectorOpExists},
			{Key: rayv1.LabelWorkerGroupReplicaName, Operator: op, Values: []string{replica}},
		}}}
	}
	if s.Affinity == nil {
		s.Affinity = &corev1.Affinity{}
	}
	a := s.Affinity
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	with, without := &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*with = append(*with, term(metav1.LabelSelectorOpIn))
	*without = append(*without, term(metav1.LabelSelectorOpNotIn))
}
