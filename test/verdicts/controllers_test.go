package verdicts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// Reports of the controllers about objects that they do not act on: a RayCluster and a RayService have a condition, a RayJob a state, a
// RayCronJob an event.

// hasController reports whether the operator of a setting runs a controller of the kind.
func hasController(kind string, s *setting) bool {
	return kind != "RayCronJob" || s.gates[validation.GateCronJob]
}

// readConditions waits until the operators have looked at every stored object that is theirs.
func readConditions(ctx context.Context) error {
	err := eventually(ctx, "conditions", func(ctx context.Context) error {
		stored := map[string]*unstructured.Unstructured{}
		for _, kind := range []string{"RayCluster", "RayJob", "RayService"} {
			list, err := kindOf(kind).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				stored[kind+" "+list.Items[i].GetNamespace()+"/"+list.Items[i].GetName()] = &list.Items[i]
			}
		}
		for _, c := range lab.cases {
			if c.namespace == "" || c.ofAnother() || c.Kind == "RayCronJob" {
				continue
			}
			u := stored[c.Kind+" "+c.namespace+"/"+c.object.GetName()]
			if u == nil {
				return fmt.Errorf("%s is not stored", c)
			}
			var looked bool
			if c.condition, looked = conditionOf(u); !looked {
				return fmt.Errorf("the operator has not looked at %s", c)
			}
			if c.beforeDiscovery() {
				return fmt.Errorf("the operator does not know yet that there is no cert-manager for %s", c)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return readCronEvents(ctx)
}

// beforeDiscovery reports whether the condition is what an operator says until it has found that cert-manager is missing.
func (c *testCase) beforeDiscovery() bool {
	rc, ok := c.object.(*rayv1.RayCluster)
	return ok && rc.Spec.TLSOptions != nil && c.condition == validation.Summary(c.verdict(c.operatorOptions()).Errors) &&
		c.condition != validation.Summary(c.verdict(c.controllerOptions()).Errors)
}

// conditionOf is what a controller says against a RayCluster, a RayJob or a RayService, and whether it has looked at it.
func conditionOf(u *unstructured.Unstructured) (message string, looked bool) {
	if u.GetKind() == "RayJob" {
		state, _, _ := unstructured.NestedString(u.Object, "status", "jobDeploymentStatus")
		if state == string(rayv1.JobDeploymentStatusValidationFailed) {
			message, _, _ = unstructured.NestedString(u.Object, "status", "message")
		}
		return message, state != ""
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		c, ok := c.(map[string]any)
		if ok && (c["type"] == rayv1.RayClusterInvalidSpec && c["status"] == "True" ||
			u.GetKind() == "RayService" && c["type"] == rayv1.RayServiceReady && c["reason"] == rayv1.ReasonRayServiceValidationFailed) {
			message, _ = c["message"].(string)
			return message, true
		}
	}
	seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return "", seen == u.GetGeneration()
}

func readCronEvents(ctx context.Context) error {
	s := settings[1]
	said, err := cronRefusals(ctx, s, nsRatchet(s))
	if err != nil {
		return err
	}
	for _, c := range lab.cases {
		if c.Kind == "RayCronJob" && c.namespace != "" && c.setting == s {
			c.condition = said[c.namespace+"/"+c.object.GetName()]
		}
	}
	return nil
}

// cronRefusals returns why RayCronJobs are not run, by namespace and name, once the operator of a setting has looked at all there are. The
// controller writes nothing about one that is in order, so this waits for what it says of two that are not, one after the other: by then it has
// taken everything before out of its queue, and has sent its events.
func cronRefusals(ctx context.Context, s *setting, namespace string) (map[string]string, error) {
	if !s.gates[validation.GateCronJob] {
		return nil, fmt.Errorf("the operator of %s has no controller of RayCronJobs", s.name)
	}
	for range 2 {
		last := asUnstructured(baseOf("RayCronJob"))
		last.SetName("")
		last.SetGenerateName("last-")
		last.SetNamespace(namespace)
		if err := unstructured.SetNestedField(last.Object, "no schedule", "spec", "schedule"); err != nil {
			return nil, err
		}
		created, err := kindOf("RayCronJob").Namespace(namespace).Create(ctx, last, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		err = eventually(ctx, "an event about a RayCronJob without a schedule", func(ctx context.Context) error {
			said, err := cronEvents(ctx, namespace)
			if err == nil && said[namespace+"/"+created.GetName()] == "" {
				err = errors.New("there is none")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return cronEvents(ctx, corev1.NamespaceAll)
}

func cronEvents(ctx context.Context, namespace string) (map[string]string, error) {
	list, err := lab.core.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=InvalidRayCronJobSpec"})
	if err != nil {
		return nil, err
	}
	said := map[string]string{}
	for _, e := range list.Items {
		key := e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
		said[key] = strings.TrimPrefix(e.Message, key+": ")
	}
	return said, nil
}

// ofAnother reports whether another controller looks after the object.
func (c *testCase) ofAnother() bool {
	switch o := c.object.(type) {
	case *rayv1.RayCluster:
		return !rayv1.ManagedHere(o.Spec.ManagedBy)
	case *rayv1.RayJob:
		return !rayv1.ManagedHere(o.Spec.ManagedBy)
	case *rayv1.RayService:
		return !rayv1.ManagedHere(o.Spec.ManagedBy)
	}
	return false
}
