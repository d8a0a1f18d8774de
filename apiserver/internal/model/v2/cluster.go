package v2

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// ClusterKind is the kind of the resource that the RayCluster message mirrors.
const ClusterKind = "RayCluster"

// ClusterToRay returns the custom resource that in mirrors and every mistake in it, with its JSON path. With mistakes the
// object is incomplete and only good for finding more of them by validation. An absent apiVersion or kind is filled in; nil
// reads as an empty message.
func ClusterToRay(in *raygatev2.RayCluster) (*rayv1.RayCluster, field.ErrorList) {
	d := &decoding{}
	out := &rayv1.RayCluster{}
	out.APIVersion, out.Kind = d.typeMeta(in.GetApiVersion(), in.GetKind(), ClusterKind)
	d.metadata(in.GetMetadata(), &out.ObjectMeta, field.NewPath("metadata"))
	d.clusterSpec(in.GetSpec(), &out.Spec, field.NewPath("spec"))
	d.clusterStatus(in.GetStatus(), &out.Status, field.NewPath("status"))
	return out, d.errs
}

// ClusterFromRay returns the message that mirrors in; nil for nil. It fails only for a Kubernetes value that has no JSON form.
func ClusterFromRay(in *rayv1.RayCluster) (*raygatev2.RayCluster, error) {
	if in == nil {
		return nil, nil
	}
	e := &encoding{}
	out := &raygatev2.RayCluster{
		ApiVersion: rayv1.GroupVersion.String(), // what an informer or a client returns often has no TypeMeta
		Kind:       ClusterKind,
		Metadata:   metadataFromKube(&in.ObjectMeta),
		Spec:       e.clusterSpec(&in.Spec),
		Status:     clusterStatusFromRay(&in.Status),
	}
	return out, errors.Join(e.errs...)
}

func (d *decoding) clusterSpec(in *raygatev2.RayClusterSpec, out *rayv1.RayClusterSpec, path *field.Path) {
	if in == nil {
		return
	}
	d.headGroup(in.HeadGroupSpec, &out.HeadGroupSpec, path.Child("headGroupSpec"))
	out.WorkerGroupSpecs = list(d, in.WorkerGroupSpecs, path.Child("workerGroupSpecs"), d.workerGroup)
	out.RayVersion = in.RayVersion
	out.EnableInTreeAutoscaling = copyOf(in.EnableInTreeAutoscaling)
	out.AutoscalerOptions = message(in.AutoscalerOptions, path.Child("autoscalerOptions"), d.autoscaler)
	out.Suspend = copyOf(in.Suspend)
	out.ManagedBy = copyOf(in.ManagedBy)
	out.HeadServiceAnnotations = stringMap(in.HeadServiceAnnotations)
	out.GcsFaultToleranceOptions = message(in.GcsFaultToleranceOptions, path.Child("gcsFaultToleranceOptions"), d.gcsFaultTolerance)
	out.UpgradeStrategy = message(in.UpgradeStrategy, path.Child("upgradeStrategy"), upgradeStrategyToRay)
	out.AuthOptions = message(in.AuthOptions, path.Child("authOptions"), authToRay)
	out.HistoryServerOptions = message(in.HistoryServerOptions, path.Child("historyServerOptions"), d.historyServer)
	out.NetworkPolicy = message(in.NetworkPolicy, path.Child("networkPolicy"), d.networkPolicy)
	out.TLSOptions = message(in.TlsOptions, path.Child("tlsOptions"), tlsToRay)
}

func (e *encoding) clusterSpec(in *rayv1.RayClusterSpec) *raygatev2.RayClusterSpec {
	return &raygatev2.RayClusterSpec{
		HeadGroupSpec:            e.headGroup(&in.HeadGroupSpec),
		WorkerGroupSpecs:         mapped(in.WorkerGroupSpecs, e.workerGroup),
		RayVersion:               in.RayVersion,
		EnableInTreeAutoscaling:  copyOf(in.EnableInTreeAutoscaling),
		AutoscalerOptions:        present(in.AutoscalerOptions, e.autoscaler),
		Suspend:                  copyOf(in.Suspend),
		ManagedBy:                copyOf(in.ManagedBy),
		HeadServiceAnnotations:   stringMap(in.HeadServiceAnnotations),
		GcsFaultToleranceOptions: present(in.GcsFaultToleranceOptions, e.gcsFaultTolerance),
		UpgradeStrategy:          present(in.UpgradeStrategy, upgradeStrategyFromRay),
		AuthOptions:              present(in.AuthOptions, authFromRay),
		HistoryServerOptions:     present(in.HistoryServerOptions, e.historyServer),
		NetworkPolicy:            present(in.NetworkPolicy, e.networkPolicy),
		TlsOptions:               present(in.TLSOptions, tlsFromRay),
	}
}

func (d *decoding) headGroup(in *raygatev2.HeadGroupSpec, out *rayv1.HeadGroupSpec, path *field.Path) {
	if in == nil {
		return
	}
	d.document(in.Template, &out.Template, path.Child("template"))
	d.document(in.RayStartParams, &out.RayStartParams, path.Child("rayStartParams"))
	out.Resources = stringMap(in.Resources)
	out.Labels = stringMap(in.Labels)
	out.HeadService = documentTo[corev1.Service](d, in.HeadService, path.Child("headService"))
	out.ServiceType = corev1.ServiceType(in.ServiceType)
	out.EnableIngress = copyOf(in.EnableIngress)
	out.IngressOptions = message(in.IngressOptions, path.Child("ingressOptions"), d.ingress)
}

func (e *encoding) headGroup(in *rayv1.HeadGroupSpec) *raygatev2.HeadGroupSpec {
	return &raygatev2.HeadGroupSpec{
		Template:       e.document(&in.Template),
		RayStartParams: startParams(in.RayStartParams),
		Resources:      stringMap(in.Resources),
		Labels:         stringMap(in.Labels),
		HeadService:    e.document(in.HeadService),
		ServiceType:    string(in.ServiceType),
		EnableIngress:  copyOf(in.EnableIngress),
		IngressOptions: present(in.IngressOptions, e.ingress),
	}
}

func (d *decoding) ingress(in *raygatev2.IngressOptions, out *rayv1.IngressOptions, path *field.Path) {
	out.Host = copyOf(in.Host)
	out.Path = copyOf(in.Path)
	out.PathType = stringTo[rayv1.IngressPathType](in.PathType)
	out.TLS = documents(d, in.Tls, out.TLS, path.Child("tls"))
}

func (e *encoding) ingress(in *rayv1.IngressOptions) *raygatev2.IngressOptions {
	return &raygatev2.IngressOptions{
		Host:     copyOf(in.Host),
		Path:     copyOf(in.Path),
		PathType: stringFrom(in.PathType),
		Tls:      encodeList(e, in.TLS),
	}
}

func (d *decoding) workerGroup(in *raygatev2.WorkerGroupSpec, out *rayv1.WorkerGroupSpec, path *field.Path) {
	out.GroupName = in.GroupName
	out.Replicas = copyOf(in.Replicas)
	out.MinReplicas = copyOf(in.MinReplicas)
	out.MaxReplicas = copyOf(in.MaxReplicas)
	out.NumOfHosts = in.NumOfHosts
	out.IdleTimeoutSeconds = copyOf(in.IdleTimeoutSeconds)
	out.Priority = copyOf(in.Priority)
	out.Suspend = copyOf(in.Suspend)
	out.Resources = stringMap(in.Resources)
	out.Labels = stringMap(in.Labels)
	d.document(in.RayStartParams, &out.RayStartParams, path.Child("rayStartParams"))
	d.document(in.Template, &out.Template, path.Child("template"))
	out.ScaleStrategy.WorkersToDelete = stringsTo[string](in.ScaleStrategy.GetWorkersToDelete())
}

func (e *encoding) workerGroup(in *rayv1.WorkerGroupSpec) *raygatev2.WorkerGroupSpec {
	out := workerGroupBasic(in)
	out.IdleTimeoutSeconds = copyOf(in.IdleTimeoutSeconds)
	out.Priority = copyOf(in.Priority)
	out.Resources = stringMap(in.Resources)
	out.Labels = stringMap(in.Labels)
	out.RayStartParams = startParams(in.RayStartParams)
	out.Template = e.document(&in.Template)
	if len(in.ScaleStrategy.WorkersToDelete) > 0 {
		out.ScaleStrategy = &raygatev2.ScaleStrategy{WorkersToDelete: stringsTo[string](in.ScaleStrategy.WorkersToDelete)}
	}
	return out
}
