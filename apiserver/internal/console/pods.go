package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// kindOf are the kinds by resource, as labels of Pods have them.
var kindOf = map[string]string{"rayclusters": "RayCluster", "rayjobs": "RayJob", "rayservices": "RayService", "raycronjobs": "RayCronJob"}

// pod is the view of a Pod on a page.
type pod struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster,omitempty"`
	// Type is head, worker or empty for others; Group the worker group.
	Type  string `json:"type,omitempty"`
	Group string `json:"group,omitempty"`
	// Status is the phase, or the reason why the Pod or a container does not run, as kubectl shows it.
	Status   string    `json:"status"`
	Message  string    `json:"message,omitempty"`
	Ready    int       `json:"ready"`
	Total    int       `json:"total"`
	Restarts int32     `json:"restarts"`
	Node     string    `json:"node,omitempty"`
	IP       string    `json:"ip,omitempty"`
	Created  time.Time `json:"created"`
}

// pods lists the Pods that run for an object, the head first, with the caller's credentials.
func (c *Console) pods(r *http.Request) (any, error) {
	namespace, name, kind := r.PathValue("namespace"), r.PathValue("name"), kindOf[r.PathValue("resource")]
	if kind == "" || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsValidLabelValue(name)) > 0 {
		return nil, rpcstatus.PathNotFound("the path does not name an object of Ray")
	}
	selector := labels.Set{rayv1.LabelCluster: name}
	if kind != "RayCluster" {
		selector = labels.Set{rayv1.LabelOriginatedFromCRName: name, rayv1.LabelOriginatedFromCRD: kind}
	}
	var list corev1.PodList
	o := metav1.ListOptions{LabelSelector: selector.String()}
	if err := c.Core.Get().Namespace(namespace).Resource("pods").VersionedParams(&o, metav1.ParameterCodec).Do(r.Context()).Into(&list); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	answer := struct {
		Pods []pod `json:"pods"`
	}{Pods: make([]pod, len(list.Items))}
	for i := range list.Items {
		answer.Pods[i] = podOf(&list.Items[i])
	}
	slices.SortFunc(answer.Pods, func(a, b pod) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	return answer, nil
}

func podOf(p *corev1.Pod) pod {
	out := pod{
		Name: p.Name, Cluster: p.Labels[rayv1.LabelCluster], Type: p.Labels[rayv1.LabelNodeType], Group: p.Labels[rayv1.LabelGroup],
		Status: cmp.Or(p.Status.Reason, string(p.Status.Phase)), Message: p.Status.Message, Total: len(p.Spec.Containers), Node: p.Spec.NodeName, IP: p.Status.PodIP, Created: p.CreationTimestamp.UTC(),
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			out.Status, out.Message = cmp.Or(c.Reason, out.Status), c.Message
		}
	}
	for i := range p.Status.InitContainerStatuses {
		out.add(&p.Status.InitContainerStatuses[i], "Init:")
	}
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		out.add(s, "")
		if s.Ready {
			out.Ready++
		}
	}
	if p.DeletionTimestamp != nil {
		out.Status = "Terminating"
	}
	return out
}

// add adds the problem of a container that does not run as it should.
func (p *pod) add(s *corev1.ContainerStatus, prefix string) {
	p.Restarts += s.RestartCount
	switch w, ended := s.State.Waiting, s.State.Terminated; {
	case w != nil && w.Reason != "" && w.Reason != "PodInitializing":
		p.Status, p.Message = prefix+w.Reason, w.Message
	case ended != nil && ended.ExitCode != 0:
		p.Status, p.Message = prefix+cmp.Or(ended.Reason, "Error"), cmp.Or(ended.Message, fmt.Sprintf("container %s ended with exit code %d", s.Name, ended.ExitCode))
	case prefix != "" && s.State.Running != nil && !s.Ready:
		p.Status = prefix + s.Name
	}
}
