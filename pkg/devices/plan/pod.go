package plan

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
)

// mirrorAnnotation marks mirror Pods, which represent static Pods that the kubelet has started already.
const mirrorAnnotation = corev1.MirrorPodAnnotationKey

// Pod is the part of a Pod that planning reads: amounts as written, and which parents of a patch exist.
type Pod struct {
	annotations    map[string]string
	labels         map[string]string
	identity       Identity
	hasMetadata    bool
	hasAnnotations bool
	runtimeClass   string
	scheduler      string
	node           string
	containers     []container // init containers first
}

// Identity identifies a Pod in logs.
type Identity struct {
	Name, GenerateName string
	// Controller is the kind and name of the owner that made the Pod; empty if there is none.
	Controller string
}

// IdentityOf reads it of metadata.
func IdentityOf(meta *metav1.ObjectMeta) Identity {
	return identity(meta.Name, meta.GenerateName, meta.OwnerReferences)
}

func identity(name, generateName string, owners []metav1.OwnerReference) Identity {
	id := Identity{Name: name, GenerateName: generateName}
	for i := range owners {
		if o := &owners[i]; o.Controller != nil && *o.Controller {
			id.Controller = o.Kind + "/" + o.Name
		}
	}
	return id
}

// Identity is the identity of a Pod that FromJSON read; empty otherwise.
func (p *Pod) Identity() Identity { return p.identity }

// HasLabel reports whether the Pod has the label, with any value.
func (p *Pod) HasLabel(key string) bool {
	_, ok := p.labels[key]
	return ok
}

type container struct {
	list        string // of the Pod's spec: containers or initContainers
	index       int
	name        string
	missing     bool // a null in the list, to which nothing can be added
	privileged  bool
	restartable bool // an init container that keeps running

	hasResources, hasLimits, hasRequests, hasEnv bool

	limits, requests map[string]string
	env              []variable
}

func (c *container) init() bool { return c.list == initContainers }

const (
	initContainers = "initContainers"
	appContainers  = "containers"
)

type variable struct {
	name, value string
	fromSource  bool
}

// amountText is a quantity as it is written: the API server writes texts, people also numbers.
type amountText string

// UnmarshalJSON implements json.Unmarshaler.
func (a *amountText) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if string(data) == "null" {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var text string
		err := json.UnmarshalCaseSensitivePreserveInts(data, &text)
		*a = amountText(text)
		return err
	}
	*a = amountText(data) // not a quantity if it is not a number; the parser reports that
	return nil
}

type rawPod struct {
	Metadata *struct {
		Name            string                  `json:"name"`
		GenerateName    string                  `json:"generateName"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		Annotations     map[string]string       `json:"annotations"`
		Labels          map[string]string       `json:"labels"`
	} `json:"metadata"`
	Spec *struct {
		RuntimeClassName *string         `json:"runtimeClassName"`
		SchedulerName    string          `json:"schedulerName"`
		NodeName         string          `json:"nodeName"`
		InitContainers   []*rawContainer `json:"initContainers"`
		Containers       []*rawContainer `json:"containers"`
	} `json:"spec"`
}

type rawContainer struct {
	Name            string  `json:"name"`
	RestartPolicy   *string `json:"restartPolicy"`
	SecurityContext *struct {
		Privileged *bool `json:"privileged"`
	} `json:"securityContext"`
	Env []struct {
		Name      string    `json:"name"`
		Value     string    `json:"value"`
		ValueFrom *struct{} `json:"valueFrom"`
	} `json:"env"`
	Resources *struct {
		Limits   map[string]amountText `json:"limits"`
		Requests map[string]amountText `json:"requests"`
	} `json:"resources"`
}

// FromJSON reads a Pod as the API server sends it. Fields that are not needed may be anything.
func FromJSON(data []byte) (*Pod, error) {
	var raw rawPod
	if err := json.UnmarshalCaseSensitivePreserveInts(data, &raw); err != nil {
		return nil, fmt.Errorf("reading the Pod: %w", err)
	}
	p := &Pod{}
	if m := raw.Metadata; m != nil {
		p.hasMetadata, p.hasAnnotations = true, m.Annotations != nil
		p.annotations, p.labels = m.Annotations, m.Labels
		p.identity = identity(m.Name, m.GenerateName, m.OwnerReferences)
	}
	if s := raw.Spec; s != nil {
		p.scheduler, p.node = s.SchedulerName, s.NodeName
		if s.RuntimeClassName != nil {
			p.runtimeClass = *s.RuntimeClassName
		}
		p.addRaw(initContainers, s.InitContainers)
		p.addRaw(appContainers, s.Containers)
	}
	return p, nil
}

func (p *Pod) addRaw(list string, containers []*rawContainer) {
	for i, r := range containers {
		c := container{list: list, index: i}
		if r == nil {
			c.missing = true
			p.containers = append(p.containers, c)
			continue
		}
		c.name = r.Name
		c.restartable = list == initContainers && r.RestartPolicy != nil && *r.RestartPolicy == string(corev1.ContainerRestartPolicyAlways)
		c.privileged = r.SecurityContext != nil && r.SecurityContext.Privileged != nil && *r.SecurityContext.Privileged
		c.hasEnv = r.Env != nil
		for _, e := range r.Env {
			c.env = append(c.env, variable{name: e.Name, value: e.Value, fromSource: e.ValueFrom != nil})
		}
		if r.Resources != nil {
			c.hasResources = true
			c.limits, c.hasLimits = texts(r.Resources.Limits), r.Resources.Limits != nil
			c.requests, c.hasRequests = texts(r.Resources.Requests), r.Resources.Requests != nil
		}
		p.containers = append(p.containers, c)
	}
}

func texts(list map[string]amountText) map[string]string {
	out := make(map[string]string, len(list))
	for name, text := range list {
		if text != "" {
			out[name] = string(text)
		}
	}
	return out
}

// FromPod reads a Pod, or a Pod template. The result has no labels, which conditions of a registry may read: see WithLabels.
func FromPod(annotations map[string]string, spec *corev1.PodSpec) *Pod {
	p := &Pod{hasMetadata: true, annotations: annotations, hasAnnotations: annotations != nil, scheduler: spec.SchedulerName, node: spec.NodeName}
	if spec.RuntimeClassName != nil {
		p.runtimeClass = *spec.RuntimeClassName
	}
	p.addTyped(initContainers, spec.InitContainers)
	p.addTyped(appContainers, spec.Containers)
	return p
}

// WithLabels gives a Pod that was read by FromPod the labels, and returns it.
func (p *Pod) WithLabels(labels map[string]string) *Pod {
	p.labels = labels
	return p
}

func (p *Pod) addTyped(list string, containers []corev1.Container) {
	for i := range containers {
		from := &containers[i]
		c := container{
			list: list, index: i, name: from.Name, hasEnv: from.Env != nil,
			hasResources: true, hasLimits: from.Resources.Limits != nil, hasRequests: from.Resources.Requests != nil,
			limits: quantities(from.Resources.Limits), requests: quantities(from.Resources.Requests),
		}
		c.restartable = list == initContainers && from.RestartPolicy != nil && *from.RestartPolicy == corev1.ContainerRestartPolicyAlways
		c.privileged = from.SecurityContext != nil && from.SecurityContext.Privileged != nil && *from.SecurityContext.Privileged
		for _, e := range from.Env {
			c.env = append(c.env, variable{name: e.Name, value: e.Value, fromSource: e.ValueFrom != nil})
		}
		p.containers = append(p.containers, c)
	}
}

func quantities(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

// Static reports whether the Pod mirrors a static Pod, which the kubelet runs without asking admission.
func (p *Pod) Static() bool {
	_, static := p.annotations[mirrorAnnotation]
	return static
}
