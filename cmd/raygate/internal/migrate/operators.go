package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMapResource  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// Operator is a running operator and its settings.
type Operator struct {
	Namespace      string    `json:"namespace"`
	Name           string    `json:"name"`
	Image          string    `json:"image"`
	ServiceAccount string    `json:"serviceAccount"`
	Replicas       int32     `json:"replicas"`
	Settings       []Setting `json:"settings"`

	gates map[string]bool
	// scheduler is the batch scheduler, proxy means that dashboards are reached through the API server, watched are the namespaces; empty
	// means all.
	scheduler string
	proxy     bool
	watched   []string
}

// Setting is one flag, variable or field of the operator.
type Setting struct {
	// From is flag, environment or file.
	From string `json:"from"`
	Name string `json:"name"`
	// Value is the literal value; empty for a value from elsewhere, such as a Secret.
	Value string `json:"value"`
	// Here is the name of the setting in raygate; empty if it has no equivalent.
	Here string `json:"here,omitempty"`
	Note string `json:"note,omitempty"`
}

func (c *Checker) checkOperators(ctx context.Context, r *Report) error {
	found, err := c.findOperators(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		r.add(Finding{Area: AreaSettings, Severity: Note, Message: "no Deployment of KubeRay's operator was found", Remedy: "name it by --operator NAMESPACE/NAME, if there is one"})
	}
	for i := range found {
		if err := c.checkOperator(ctx, r, &found[i]); err != nil {
			return err
		}
	}
	return nil
}

// findOperators returns the named Deployment, or those that look like KubeRay's.
func (c *Checker) findOperators(ctx context.Context) ([]appsv1.Deployment, error) {
	if c.options.Operator != "" {
		namespace, name, _ := strings.Cut(c.options.Operator, "/")
		d := appsv1.Deployment{}
		found, err := c.get(ctx, deploymentResource, namespace, name, &d)
		if err == nil && !found {
			err = fmt.Errorf("there is no Deployment %s", c.options.Operator)
		}
		return []appsv1.Deployment{d}, err
	}
	var found []appsv1.Deployment
	var broken error
	err := c.each(ctx, deploymentResource, "", func(u *unstructured.Unstructured) {
		d := appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			broken = fmt.Errorf("decoding Deployment %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		} else if looksLikeOperator(&d) {
			found = append(found, d)
		}
	})
	return found, cmp.Or(err, broken)
}

// looksLikeOperator checks the labels of KubeRay's chart and kustomization, and the name of its image.
func looksLikeOperator(d *appsv1.Deployment) bool {
	const name = "kuberay-operator"
	images := func(part string) bool {
		return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, part) })
	}
	if images("raygate") {
		return false // it may have been installed under the names of KubeRay
	}
	if d.Name == name || d.Labels["app.kubernetes.io/component"] == name || d.Labels["app.kubernetes.io/name"] == name {
		return true
	}
	return images("kuberay/operator")
}

// operatorContainer is the container with the operator, as opposed to side-cars.
func operatorContainer(d *appsv1.Deployment) *corev1.Container {
	all := d.Spec.Template.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool {
		return strings.Contains(c.Name, "operator") || strings.Contains(c.Image, "operator") || slices.Contains(c.Command, "/manager")
	})
	if i < 0 && len(all) > 0 {
		i = 0
	}
	if i < 0 {
		return &corev1.Container{}
	}
	return &all[i]
}

func (c *Checker) checkOperator(ctx context.Context, r *Report, d *appsv1.Deployment) error {
	container := operatorContainer(d)
	o := Operator{Namespace: d.Namespace, Name: d.Name, Image: container.Image, ServiceAccount: cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"),
		Replicas: 1, Settings: []Setting{}, gates: map[string]bool{}}
	if d.Spec.Replicas != nil {
		o.Replicas = *d.Spec.Replicas
	}
	s := &settings{report: r, operator: &o}
	arguments := flagsOf(container)
	file := ""
	for _, f := range arguments {
		if f.Name == "config" {
			file = f.Value
		}
	}
	for _, f := range arguments {
		s.flag(f, file != "")
	}
	for _, v := range container.Env {
		s.variable(v)
	}
	for _, from := range container.EnvFrom {
		s.add(Finding{Severity: Note, Field: "envFrom", Message: fmt.Sprintf("variables of %s are not looked at", envSource(from)), Remedy: "compare them with docs/operator.md"})
	}
	if file != "" {
		if err := c.checkFile(ctx, s, d, container, file); err != nil {
			return err
		}
	}
	s.defaults(container)
	r.Operators = append(r.Operators, o)
	return nil
}

func envSource(from corev1.EnvFromSource) string {
	switch {
	case from.ConfigMapRef != nil:
		return "ConfigMap " + from.ConfigMapRef.Name
	case from.SecretRef != nil:
		return "Secret " + from.SecretRef.Name
	}
	return "an unknown source"
}

// argument is a flag on a command line.
type argument struct{ Name, Value string }

// flagsOf reads the flags of a container: --name=value, --name value and -name, like the flag library of the operator. The table decides
// whether a name without a value needs one.
func flagsOf(container *corev1.Container) []argument {
	words := slices.Concat(container.Command, container.Args)
	var all []argument
	for i := 0; i < len(words); i++ {
		word, isFlag := strings.CutPrefix(words[i], "-")
		if !isFlag || word == "" {
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		if !has {
			value = "true"
			if known, ok := flags[name]; ok && !known.isSwitch && i+1 < len(words) {
				i++
				value = words[i]
			}
		}
		all = append(all, argument{name, value})
	}
	return all
}

// isTrue reads a switch as Go's flag package does.
func isTrue(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && on
}
