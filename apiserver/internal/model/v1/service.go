package v1

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// ServiceToRay returns the RayService that a message describes, created now. Problems have the paths of the message.
func ServiceToRay(s *kuberay.RayService, templates Templates, now time.Time) (*rayv1.RayService, field.ErrorList) {
	rs := &rayv1.RayService{TypeMeta: typeMeta("RayService"), ObjectMeta: objectMeta(s.GetName(), s.GetNamespace())}
	rs.Annotations[annotationCreated] = now.UTC().String()
	errs := setUser(s.GetUser(), rs.Labels, rs.Annotations)
	rs.Spec.ServeConfigV2 = s.GetServeConfig_V2()
	rs.Spec.ServiceUnhealthySecondThreshold = nonZero(max(s.GetServiceUnhealthySecondThreshold(), 0))       //nolint:staticcheck // clients still send it
	rs.Spec.DeploymentUnhealthySecondThreshold = nonZero(max(s.GetDeploymentUnhealthySecondThreshold(), 0)) //nolint:staticcheck // clients still send it
	spec, more := specToRay(s.GetClusterSpec(), specOptions{version: s.GetVersion(), serve: true, templates: templates})
	rs.Spec.RayClusterSpec = ptr.Deref(spec, rayv1.RayClusterSpec{})
	return rs, append(errs, more...)
}

// ServiceFromRay returns the V1 form of a RayService, without its events.
func ServiceFromRay(rs *rayv1.RayService) *kuberay.RayService {
	active := &rs.Status.ActiveServiceStatus
	s := &kuberay.RayService{
		Name: rs.Name, Namespace: rs.Namespace, User: userOf(rs.Labels, rs.Annotations), Version: rs.Spec.RayClusterSpec.RayVersion, ServeConfig_V2: rs.Spec.ServeConfigV2,
		ClusterSpec: specFromRay(&rs.Spec.RayClusterSpec), CreatedAt: seconds(&rs.CreationTimestamp), DeleteAt: seconds(rs.DeletionTimestamp),
		RayServiceStatus: &kuberay.RayServiceStatus{
			RayClusterName: active.RayClusterName, RayClusterState: string(active.RayClusterStatus.State), ServiceEndpoint: active.RayClusterStatus.Endpoints,
			ServeApplicationStatus: applicationsFromRay(active.Applications),
		},
	}
	s.ServiceUnhealthySecondThreshold = ptr.Deref(rs.Spec.ServiceUnhealthySecondThreshold, 0)       //nolint:staticcheck // clients compare it with what they sent
	s.DeploymentUnhealthySecondThreshold = ptr.Deref(rs.Spec.DeploymentUnhealthySecondThreshold, 0) //nolint:staticcheck // clients compare it with what they sent
	return s
}

func applicationsFromRay(all map[string]rayv1.AppStatus) []*kuberay.ServeApplicationStatus {
	var out []*kuberay.ServeApplicationStatus
	for _, name := range slices.Sorted(maps.Keys(all)) {
		app := &kuberay.ServeApplicationStatus{Name: name, Status: all[name].Status, Message: all[name].Message}
		for _, d := range slices.Sorted(maps.Keys(all[name].Deployments)) {
			deployment := all[name].Deployments[d]
			app.ServeDeploymentStatus = append(app.ServeDeploymentStatus, &kuberay.ServeDeploymentStatus{DeploymentName: d, Status: deployment.Status, Message: deployment.Message})
		}
		out = append(out, app)
	}
	return out
}
