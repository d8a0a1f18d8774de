package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// recordFor returns the record for a diagnosis: that of an object that does not exist now, or of an earlier attempt, or that of the last
// attempt of a failed RayJob if its cluster is gone. It returns nil if the diagnosis needs none, and if a request that names no attempt or
// UID has none.
func (s *historyServer) recordFor(ctx context.Context, kind *resource.Resource, req proto.Message, item *store.Item) (*resource.Record, error) {
	var k history.Key
	var err error
	switch req := req.(type) {
	case *raygatev2.DiagnoseJobRequest:
		k, err = keyOfRun(kind.Checks.Kind, req)
	case *raygatev2.DiagnoseClusterRequest:
		k, err = keyOfRun(kind.Checks.Kind, &raygatev2.DiagnoseJobRequest{Namespace: req.GetNamespace(), Name: req.GetName(), Uid: req.GetUid()})
	}
	if err != nil {
		return nil, err
	}
	if item == nil || k.UID != "" && k.UID != string(item.UID) {
		return s.recordOfDeleted(ctx, kind, k)
	}
	k.UID = string(item.UID)
	if kind.Checks.Kind != "RayJob" {
		return nil, nil
	}
	a := attemptOf(item)
	if k.Attempt == 0 || k.Attempt == a.number {
		return s.recordOfLast(ctx, kind, k, a)
	}
	r, err := s.find(ctx, k, a.number)
	if err != nil {
		return nil, err
	}
	return s.whole(ctx, kind, r)
}

// recordOfDeleted returns the record of an object that does not exist now.
func (s *historyServer) recordOfDeleted(ctx context.Context, kind *resource.Resource, k history.Key) (*resource.Record, error) {
	named := k.UID != "" || k.Attempt != 0
	if s.store == nil && !named {
		return nil, nil
	}
	r, err := s.find(ctx, k, 0)
	var record *resource.Record
	if err == nil {
		record, err = s.whole(ctx, kind, r)
	}
	switch {
	case isMissing(err) && !named: // the error for the object itself says it
		return nil, nil
	case err != nil:
		return nil, err
	}
	record.Deleted = true
	return record, nil
}

// recordOfLast returns Pods and events of the last attempt of a RayJob that failed, if its cluster is gone and with it the Pods. A store
// that is away is a warning, since the RayJob itself says most.
func (s *historyServer) recordOfLast(ctx context.Context, kind *resource.Resource, k history.Key, a attempt) (*resource.Record, error) {
	if s.store == nil || a.state != rayv1.JobDeploymentStatusFailed || a.cluster == "" {
		return nil, nil
	}
	if _, err := kind.Dependents.Find(ctx, k.Namespace, a.cluster); !apierrors.IsNotFound(err) {
		return nil, nil
	}
	r, err := s.find(ctx, k, a.number)
	if isMissing(err) || err == nil && r.Cluster != a.cluster {
		return nil, nil
	}
	if err != nil {
		kind.Warn(ctx, "Pods and events of the cluster are left out: "+err.Error())
		return nil, ctx.Err()
	}
	record, err := s.forDiagnosis(ctx, kind, r)
	if err != nil {
		return nil, err
	}
	record.Object = nil
	return record, nil
}

// whole is forDiagnosis for a record that needs its object.
func (s *historyServer) whole(ctx context.Context, kind *resource.Resource, r *history.Record) (*resource.Record, error) {
	if r.Object == nil {
		return nil, rpcstatus.NotFound("the record of %s %s lacks the object: %s", r.Kind, r.Name, strings.Join(r.Lost, "; "))
	}
	return s.forDiagnosis(ctx, kind, r)
}

// forDiagnosis returns what a diagnosis reads of a record, as far as the caller may read that.
func (s *historyServer) forDiagnosis(ctx context.Context, kind *resource.Resource, r *history.Record) (*resource.Record, error) {
	if err := s.restrict(ctx, kind, r); err != nil {
		return nil, err
	}
	if err := flowcontrol.Hold(ctx, sizeOfRecord(r)); err != nil {
		return nil, err
	}
	out := &resource.Record{
		Object: r.Object, Cluster: r.RayCluster, Attempt: r.Attempt, Ended: r.Ended,
		Pods: make([]corev1.Pod, len(r.Pods)), Events: make([]corev1.Event, len(r.Events)),
	}
	var err error
	for i, text := range r.Pods {
		err = errors.Join(err, json.Unmarshal(text, &out.Pods[i]))
	}
	for i, text := range r.Events {
		err = errors.Join(err, json.Unmarshal(text, &out.Events[i]))
	}
	return out, err
}
