package archive

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/history"
)

// serveAnswer is what the dashboard answered about Serve, by its fields. An empty one was too large.
type serveAnswer map[string]json.RawMessage

// Serve keeps what the dashboard of a cluster of a RayService answered about Serve, until the cluster and the RayService are recorded: a
// dashboard ends before them. A nil Archive keeps nothing.
func (a *Archive) Serve(service types.UID, cluster string, answer map[string]json.RawMessage) {
	if a == nil {
		return
	}
	size := 0
	for _, field := range answer {
		size += len(field)
	}
	if size > maxAnswer {
		answer = map[string]json.RawMessage{}
	}
	a.serve.Set(service, cluster, answer)
}

// takeServe returns the last answer about a RayCluster or the active cluster of a RayService that was deleted. A RayService that is being
// deleted still needs those of its clusters.
func (a *Archive) takeServe(ctx context.Context, o client.Object) serveAnswer {
	switch o := o.(type) {
	case *rayv1.RayService:
		answer, _ := a.serve.Get(o.UID, o.Status.ActiveServiceStatus.RayClusterName)
		a.serve.Forget(o.UID)
		return answer
	case *rayv1.RayCluster:
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.Kind != "RayService" {
			return nil
		}
		answer, _ := a.serve.Get(owner.UID, o.Name)
		var of rayv1.RayService
		err := a.config.Cache.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: owner.Name}, &of)
		if err == nil && of.UID == owner.UID && of.DeletionTimestamp == nil {
			a.serve.Delete(owner.UID, o.Name)
		}
		return answer
	default:
		return nil
	}
}

// addServe adds an answer to a record.
func addServe(r *history.Record, answer serveAnswer) error {
	if answer == nil {
		return nil
	}
	kept := history.Answer{Missing: fmt.Sprintf("it has more than %d bytes", maxAnswer)}
	if len(answer) > 0 {
		text, err := json.Marshal(answer)
		if err != nil {
			return fmt.Errorf("encoding the details of Serve: %w", err)
		}
		kept = history.Answer{Body: secrets.ReplaceAll(text, []byte("$1***"))}
	}
	r.Answers = history.Answers{serveTarget: kept}
	return nil
}
