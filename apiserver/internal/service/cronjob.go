package service

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// cronJobServer has the methods of CronJobService that other kinds do not have.
type cronJobServer struct {
	raygatev2.UnimplementedCronJobServiceServer
	*resource.Resource
	jobs  *resource.Resource
	clock clock.PassiveClock
}

// TriggerCronJob implements raygatev2.CronJobServiceServer. It uses the template as stored, including fields that this gateway does not
// have.
func (s *cronJobServer) TriggerCronJob(ctx context.Context, req *raygatev2.TriggerCronJobRequest) (*raygatev2.TriggerCronJobResponse, error) {
	item, err := s.Find(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	if item.DeletionTimestamp != nil {
		return nil, rpcstatus.Precondition("DELETING", "RayCronJob %s is being deleted", item.Name)
	}
	tree, err := item.Tree()
	if err != nil {
		return nil, err
	}
	spec, _, _ := unstructured.NestedMap(tree, "spec", "jobTemplate")
	meta, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new((&rayv1.RayCronJob{ObjectMeta: item.ObjectMeta}).RunMeta(s.clock.Now())))
	if err != nil {
		return nil, fmt.Errorf("encoding metadata: %w", err)
	}
	made, err := s.jobs.Make(ctx, map[string]any{"apiVersion": rayv1.GroupVersion.String(), "kind": s.jobs.Checks.Kind, "metadata": meta, "spec": spec}, req.GetValidateOnly())
	if apierrors.IsAlreadyExists(err) {
		return nil, &rpcstatus.Error{Code: codes.AlreadyExists, Reason: "ALREADY_EXISTS", Message: fmt.Sprintf("RayJob %s has been made for this minute already: trigger again in the next", meta["name"])}
	}
	if err != nil {
		return nil, err
	}
	resp := &raygatev2.TriggerCronJobResponse{}
	return resp, s.jobs.Answer(ctx, resp, true, made)
}
