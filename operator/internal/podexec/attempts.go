package podexec

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/backoff"
)

// attempt is what is tried for a group.
type attempt struct {
	operation operation
	group     string
}

type operation string

const (
	creating operation = "create"
	deleting operation = "delete"
)

func (a attempt) key(cluster metav1.Object) backoff.Key {
	return backoff.Key{Owner: cluster.GetUID(), Attempt: string(a.operation) + "/" + a.group}
}

// last is what the API server said when it last refused this for the generation of the cluster.
func (x *Executor) last(cluster metav1.Object, a attempt) []Failure {
	failures, _ := x.refused.Last(a.key(cluster), cluster.GetGeneration())
	return failures
}

// settle forgets attempts to create Pods of groups that lack none: a request that timed out may have succeeded.
func (r *run) settle() {
	lacking := map[string]bool{rayv1.HeadGroupName: r.work.Head != nil}
	for _, g := range r.work.Groups {
		lacking[g.Name] = true
	}
	for name := range r.refused.Attempts(r.cluster.UID) {
		if group, create := strings.CutPrefix(name, string(creating)+"/"); create && !lacking[group] {
			r.refused.Succeeded(attempt{creating, group}.key(r.cluster))
		}
	}
}
