package v2

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func (d *decoding) clusterStatus(in *raygatev2.RayClusterStatus, out *rayv1.RayClusterStatus, path *field.Path) {
	if in == nil {
		return
	}
	out.State = rayv1.ClusterState(in.State)
	out.Reason = in.Reason
	out.DesiredCPU = d.optionalQuantity(in.DesiredCpu, path.Child("desiredCPU"))
	out.DesiredMemory = d.optionalQuantity(in.DesiredMemory, path.Child("desiredMemory"))
	out.DesiredGPU = d.optionalQuantity(in.DesiredGpu, path.Child("desiredGPU"))
	out.DesiredTPU = d.optionalQuantity(in.DesiredTpu, path.Child("desiredTPU"))
	out.ReadyWorkerReplicas = in.ReadyWorkerReplicas
	out.AvailableWorkerReplicas = in.AvailableWorkerReplicas
	out.DesiredWorkerReplicas = in.DesiredWorkerReplicas
	out.MinWorkerReplicas = in.MinWorkerReplicas
	out.MaxWorkerReplicas = in.MaxWorkerReplicas
	out.LastUpdateTime = d.time(in.LastUpdateTime, path.Child("lastUpdateTime"))
	if len(in.StateTransitionTimes) > 0 {
		out.StateTransitionTimes = make(map[rayv1.ClusterState]*metav1.Time, len(in.StateTransitionTimes))
		for _, state := range slices.Sorted(maps.Keys(in.StateTransitionTimes)) {
			t := d.time(in.StateTransitionTimes[state], path.Child("stateTransitionTimes").Key(state))
			if t != nil {
				out.StateTransitionTimes[rayv1.ClusterState(state)] = t
			}
		}
	}
	out.Endpoints = stringMap(in.Endpoints)
	out.Head = rayv1.HeadInfo{
		PodIP:       in.Head.GetPodIp(),
		PodName:     in.Head.GetPodName(),
		ServiceIP:   in.Head.GetServiceIp(),
		ServiceName: in.Head.GetServiceName(),
	}
	out.Conditions = list(d, in.Conditions, path.Child("conditions"), d.condition)
	out.ObservedGeneration = in.ObservedGeneration
}

// clusterStatusFromRay returns nil for a status never written: in Go that cannot be told from an empty one.
func clusterStatusFromRay(in *rayv1.RayClusterStatus) *raygatev2.RayClusterStatus {
	out := &raygatev2.RayClusterStatus{
		State:                   string(in.State),
		Reason:                  in.Reason,
		DesiredCpu:              in.DesiredCPU.String(),
		DesiredMemory:           in.DesiredMemory.String(),
		DesiredGpu:              in.DesiredGPU.String(),
		DesiredTpu:              in.DesiredTPU.String(),
		ReadyWorkerReplicas:     in.ReadyWorkerReplicas,
		AvailableWorkerReplicas: in.AvailableWorkerReplicas,
		DesiredWorkerReplicas:   in.DesiredWorkerReplicas,
		MinWorkerReplicas:       in.MinWorkerReplicas,
		MaxWorkerReplicas:       in.MaxWorkerReplicas,
		LastUpdateTime:          timestamp(in.LastUpdateTime),
		StateTransitionTimes:    nil,
		Endpoints:               stringMap(in.Endpoints),
		Head:                    headInfoFromRay(in.Head),
		Conditions:              mapped(in.Conditions, conditionFromKube),
		ObservedGeneration:      in.ObservedGeneration,
	}
	for state, t := range in.StateTransitionTimes {
		ts := timestamp(t)
		if ts == nil {
			continue // a null, which the API server does not store
		}
		if out.StateTransitionTimes == nil {
			out.StateTransitionTimes = make(map[string]*timestamppb.Timestamp, len(in.StateTransitionTimes))
		}
		out.StateTransitionTimes[string(state)] = ts
	}
	if neverWritten(in, out) {
		return nil
	}
	return out
}

// neverWritten reports whether out, made from in, holds nothing but the "0" that quantities always print.
func neverWritten(in *rayv1.RayClusterStatus, out *raygatev2.RayClusterStatus) bool {
	for _, q := range []*resource.Quantity{&in.DesiredCPU, &in.DesiredMemory, &in.DesiredGPU, &in.DesiredTPU} {
		if !q.IsZero() {
			return false
		}
	}
	return out.State == "" && out.Reason == "" &&
		out.ReadyWorkerReplicas == 0 && out.AvailableWorkerReplicas == 0 && out.DesiredWorkerReplicas == 0 &&
		out.MinWorkerReplicas == 0 && out.MaxWorkerReplicas == 0 &&
		out.LastUpdateTime == nil && len(out.StateTransitionTimes) == 0 && len(out.Endpoints) == 0 &&
		out.Head == nil && len(out.Conditions) == 0 && out.ObservedGeneration == 0
}

func headInfoFromRay(in rayv1.HeadInfo) *raygatev2.HeadInfo {
	if in == (rayv1.HeadInfo{}) {
		return nil
	}
	return &raygatev2.HeadInfo{PodIp: in.PodIP, PodName: in.PodName, ServiceIp: in.ServiceIP, ServiceName: in.ServiceName}
}
