package expiryplan

import (
	"fmt"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Policy has the defaults and bounds of the clusters of some namespaces. It is a part of the configuration file, so that the users whom it
// binds cannot change it, and the operator needs no right to read Namespaces. Durations are above 0; nil means no limit.
type Policy struct {
	// Namespaces are names or patterns, as in team-*. Empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// IdleTimeout is the idle timeout of clusters without the annotation.
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
	// MaxIdleTimeout and MaxAge are the longest that annotations can ask for. Clusters without the annotations have these limits, too.
	MaxIdleTimeout *metav1.Duration `json:"maxIdleTimeout,omitempty"`
	MaxAge         *metav1.Duration `json:"maxAge,omitempty"`
	// MaxKeep limits how long after a limit the cluster can be kept.
	MaxKeep *metav1.Duration `json:"maxKeep,omitempty"`
	// Action is the action for clusters without the annotation; empty means Suspend.
	Action rayv1.ExpiryAction `json:"action,omitempty"`
}

// Policies are policies of which the first that matches a namespace applies to it.
type Policies []Policy

// For returns the policy of a namespace; one without limits if none matches.
func (p Policies) For(namespace string) Policy {
	for _, one := range p {
		if len(one.Namespaces) == 0 || slices.ContainsFunc(one.Namespaces, func(pattern string) bool {
			matches, _ := path.Match(pattern, namespace)
			return matches
		}) {
			return one
		}
	}
	return Policy{}
}

// Validate returns all mistakes. Each begins with the name of the list and the index.
func (p Policies) Validate(list string) []error {
	var errs []error
	for i, one := range p {
		one.validate(func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s[%d].%s", list, i, fmt.Sprintf(format, args...)))
		})
	}
	return errs
}

func (p Policy) validate(refuse func(format string, args ...any)) {
	for _, pattern := range p.Namespaces {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			refuse("namespaces has %q; use names or patterns, as in team-*", pattern)
		}
	}
	for _, d := range []struct {
		field string
		value *metav1.Duration
	}{{"idleTimeout", p.IdleTimeout}, {"maxIdleTimeout", p.MaxIdleTimeout}, {"maxAge", p.MaxAge}, {"maxKeep", p.MaxKeep}} {
		if d.value != nil && d.value.Duration <= 0 {
			refuse("%s is %s; use a duration above 0, as in 24h", d.field, d.value.Duration)
		}
	}
	if p.IdleTimeout != nil && p.MaxIdleTimeout != nil && p.IdleTimeout.Duration > p.MaxIdleTimeout.Duration {
		refuse("idleTimeout is %s and exceeds maxIdleTimeout, %s", p.IdleTimeout.Duration, p.MaxIdleTimeout.Duration)
	}
	if !slices.Contains([]rayv1.ExpiryAction{"", rayv1.ExpirySuspend, rayv1.ExpiryDelete}, p.Action) {
		refuse("action is %q; use Suspend or Delete", p.Action)
	}
}

// expiry contains the settings of a cluster: its annotations within the limits of its policy.
type expiry struct {
	rayv1.Expiry
	// idleBy and ageBy name where the limits come from.
	idleBy, ageBy string
	maxKeep       *metav1.Duration
	hours         hours
}

// byPolicy names the origin of a limit of a policy.
const byPolicy = "the configuration of the operator for the namespace"

// expiryOf returns what applies to a cluster. Annotations of which one cannot be read count for nothing, and turn the default off, but no
// bound.
func expiryOf(rc *rayv1.RayCluster, policy Policy) expiry {
	annotated, unread := rayv1.ExpiryOf(rc.Annotations)
	schedules, err := hoursOf(rc.Annotations)
	invalid := len(unread) > 0 || err != nil
	if invalid {
		schedules = hours{}
		annotated, policy.IdleTimeout = rayv1.Expiry{Action: rayv1.ExpirySuspend}, nil
	}
	if _, set := rc.Annotations[rayv1.AnnotationExpiryAction]; policy.Action != "" && (!set || invalid) {
		annotated.Action = policy.Action
	}
	e := expiry{Expiry: annotated, idleBy: "the annotation " + rayv1.AnnotationIdleTimeout, ageBy: "the annotation " + rayv1.AnnotationMaxAge, maxKeep: policy.MaxKeep, hours: schedules}
	if policy.IdleTimeout != nil && e.IdleTimeout == 0 {
		e.IdleTimeout, e.idleBy = policy.IdleTimeout.Duration, byPolicy
	}
	bound(&e.IdleTimeout, &e.idleBy, policy.MaxIdleTimeout)
	bound(&e.MaxAge, &e.ageBy, policy.MaxAge)
	return e
}

// bound lowers a limit to that of a policy.
func bound(limit *time.Duration, by *string, highest *metav1.Duration) {
	if highest != nil && (*limit == 0 || *limit > highest.Duration) {
		*limit, *by = highest.Duration, byPolicy
	}
}
