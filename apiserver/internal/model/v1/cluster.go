package v1

import (
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// ClusterToRay returns the RayCluster that a message describes, created now. Problems have the paths of the message.
func ClusterToRay(c *kuberay.Cluster, templates Templates, now time.Time) (*rayv1.RayCluster, field.ErrorList) {
	rc := &rayv1.RayCluster{TypeMeta: typeMeta("RayCluster"), ObjectMeta: objectMeta(c.GetName(), c.GetNamespace())}
	rc.Labels[labelClusterName] = c.GetName()
	rc.Labels[labelVersion] = c.GetVersion()
	rc.Labels[labelEnvironment] = c.GetEnvironment().String()
	maps.Copy(rc.Annotations, c.GetAnnotations())
	rc.Annotations[annotationCreated] = now.UTC().String()
	errs := setUser(c.GetUser(), rc.Labels, rc.Annotations)
	spec, more := specToRay(c.GetClusterSpec(), specOptions{
		version: c.GetVersion(), shared: c.GetEnvs(), serve: c.GetAnnotations()[rayv1.AnnotationEnableServeService] == "true", templates: templates,
	})
	rc.Spec = ptr.Deref(spec, rayv1.RayClusterSpec{})
	return rc, append(errs, more...)
}

// ClusterFromRay returns the V1 form of a RayCluster, without its events.
func ClusterFromRay(rc *rayv1.RayCluster) *kuberay.Cluster {
	return &kuberay.Cluster{
		Name: rc.Name, Namespace: rc.Namespace, User: userOf(rc.Labels, rc.Annotations), Version: rc.Labels[labelVersion],
		Environment: kuberay.Cluster_Environment(kuberay.Cluster_Environment_value[rc.Labels[labelEnvironment]]),
		ClusterSpec: specFromRay(&rc.Spec), Annotations: without(rc.Annotations, rayv1.AnnotationUser), CreatedAt: seconds(&rc.CreationTimestamp),
		ClusterState: string(rc.Status.State), ServiceEndpoint: rc.Status.Endpoints,
	}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: kind}
}

// objectMeta is the metadata that all custom resources made by V1 have.
func objectMeta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, Annotations: map[string]string{},
		Labels: map[string]string{rayv1.LabelAppName: rayv1.AppName, labelManagedBy: managedBy},
	}
}

// seconds is a time in whole seconds; nil for none.
func seconds(t *metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: t.Unix()}
}
