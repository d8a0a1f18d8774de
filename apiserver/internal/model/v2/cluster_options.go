package v2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// This file holds the blocks of the spec that turn on a feature each.

func (d *decoding) autoscaler(in *raygatev2.AutoscalerOptions, out *rayv1.AutoscalerOptions, path *field.Path) {
	out.Resources = documentTo[corev1.ResourceRequirements](d, in.Resources, path.Child("resources"))
	out.Image = copyOf(in.Image)
	out.ImagePullPolicy = stringTo[corev1.PullPolicy](in.ImagePullPolicy)
	out.SecurityContext = documentTo[corev1.SecurityContext](d, in.SecurityContext, path.Child("securityContext"))
	out.IdleTimeoutSeconds = copyOf(in.IdleTimeoutSeconds)
	out.UpscalingMode = stringTo[rayv1.UpscalingMode](in.UpscalingMode)
	out.Version = stringTo[rayv1.AutoscalerVersion](in.Version)
	out.Env = documents(d, in.Env, out.Env, path.Child("env"))
	out.EnvFrom = documents(d, in.EnvFrom, out.EnvFrom, path.Child("envFrom"))
	out.VolumeMounts = documents(d, in.VolumeMounts, out.VolumeMounts, path.Child("volumeMounts"))
	out.Command = stringsTo[string](in.Command)
	out.Args = stringsTo[string](in.Args)
}

func (e *encoding) autoscaler(in *rayv1.AutoscalerOptions) *raygatev2.AutoscalerOptions {
	return &raygatev2.AutoscalerOptions{
		Resources:          e.document(in.Resources),
		Image:              copyOf(in.Image),
		ImagePullPolicy:    stringFrom(in.ImagePullPolicy),
		SecurityContext:    e.document(in.SecurityContext),
		IdleTimeoutSeconds: copyOf(in.IdleTimeoutSeconds),
		UpscalingMode:      stringFrom(in.UpscalingMode),
		Version:            stringFrom(in.Version),
		Env:                encodeList(e, in.Env),
		EnvFrom:            encodeList(e, in.EnvFrom),
		VolumeMounts:       encodeList(e, in.VolumeMounts),
		Command:            stringsTo[string](in.Command),
		Args:               stringsTo[string](in.Args),
	}
}

func (d *decoding) gcsFaultTolerance(in *raygatev2.GcsFaultToleranceOptions, out *rayv1.GcsFaultToleranceOptions, path *field.Path) {
	out.Backend = rayv1.GcsFaultToleranceBackend(in.Backend)
	out.RedisAddress = in.RedisAddress
	out.RedisUsername = message(in.RedisUsername, path.Child("redisUsername"), d.redisCredential)
	out.RedisPassword = message(in.RedisPassword, path.Child("redisPassword"), d.redisCredential)
	out.ExternalStorageNamespace = in.ExternalStorageNamespace
	out.Storage = message(in.Storage, path.Child("storage"), d.gcsStorage)
}

func (e *encoding) gcsFaultTolerance(in *rayv1.GcsFaultToleranceOptions) *raygatev2.GcsFaultToleranceOptions {
	return &raygatev2.GcsFaultToleranceOptions{
		Backend:                  string(in.Backend),
		RedisAddress:             in.RedisAddress,
		RedisUsername:            present(in.RedisUsername, e.redisCredential),
		RedisPassword:            present(in.RedisPassword, e.redisCredential),
		ExternalStorageNamespace: in.ExternalStorageNamespace,
		Storage:                  present(in.Storage, gcsStorageFromRay),
	}
}

func (d *decoding) redisCredential(in *raygatev2.RedisCredential, out *rayv1.RedisCredential, path *field.Path) {
	out.Value = in.Value
	out.ValueFrom = documentTo[corev1.EnvVarSource](d, in.ValueFrom, path.Child("valueFrom"))
}

func (e *encoding) redisCredential(in *rayv1.RedisCredential) *raygatev2.RedisCredential {
	return &raygatev2.RedisCredential{Value: in.Value, ValueFrom: e.document(in.ValueFrom)}
}

func (d *decoding) gcsStorage(in *raygatev2.GcsEmbeddedStorage, out *rayv1.GcsEmbeddedStorage, path *field.Path) {
	out.ClaimName = in.ClaimName
	if in.Size != nil {
		out.Size = new(d.quantity(*in.Size, path.Child("size")))
	}
	out.StorageClassName = copyOf(in.StorageClassName)
	out.AccessModes = stringsTo[corev1.PersistentVolumeAccessMode](in.AccessModes)
	out.SubPath = in.SubPath
	out.DeletionPolicy = stringTo[rayv1.GCSStorageDeletionPolicy](in.DeletionPolicy)
}

func gcsStorageFromRay(in *rayv1.GcsEmbeddedStorage) *raygatev2.GcsEmbeddedStorage {
	out := &raygatev2.GcsEmbeddedStorage{
		ClaimName:        in.ClaimName,
		Size:             nil,
		StorageClassName: copyOf(in.StorageClassName),
		AccessModes:      stringsTo[string](in.AccessModes),
		SubPath:          in.SubPath,
		DeletionPolicy:   stringFrom(in.DeletionPolicy),
	}
	if in.Size != nil {
		out.Size = new(in.Size.String())
	}
	return out
}

func upgradeStrategyToRay(in *raygatev2.RayClusterUpgradeStrategy, out *rayv1.RayClusterUpgradeStrategy, _ *field.Path) {
	out.Type = stringTo[rayv1.RayClusterUpgradeType](in.Type)
}

func upgradeStrategyFromRay(in *rayv1.RayClusterUpgradeStrategy) *raygatev2.RayClusterUpgradeStrategy {
	return &raygatev2.RayClusterUpgradeStrategy{Type: stringFrom(in.Type)}
}

func authToRay(in *raygatev2.AuthOptions, out *rayv1.AuthOptions, _ *field.Path) {
	out.Mode = rayv1.AuthMode(in.Mode)
	out.SecretName = copyOf(in.SecretName)
	out.EnableK8sTokenAuth = copyOf(in.EnableK8STokenAuth)
}

func authFromRay(in *rayv1.AuthOptions) *raygatev2.AuthOptions {
	return &raygatev2.AuthOptions{
		Mode:               string(in.Mode),
		SecretName:         copyOf(in.SecretName),
		EnableK8STokenAuth: copyOf(in.EnableK8sTokenAuth),
	}
}

func tlsToRay(in *raygatev2.TLSOptions, out *rayv1.TLSOptions, _ *field.Path) {
	out.Enabled = copyOf(in.Enabled)
}

func tlsFromRay(in *rayv1.TLSOptions) *raygatev2.TLSOptions {
	return &raygatev2.TLSOptions{Enabled: copyOf(in.Enabled)}
}

func (d *decoding) historyServer(in *raygatev2.HistoryServerOptions, out *rayv1.HistoryServerOptions, path *field.Path) {
	out.CollectorOptions = message(in.CollectorOptions, path.Child("collectorOptions"), d.collector)
}

func (e *encoding) historyServer(in *rayv1.HistoryServerOptions) *raygatev2.HistoryServerOptions {
	return &raygatev2.HistoryServerOptions{CollectorOptions: present(in.CollectorOptions, e.collector)}
}

func (d *decoding) collector(in *raygatev2.CollectorOptions, out *rayv1.CollectorOptions, path *field.Path) {
	out.Image = copyOf(in.Image)
	out.ImagePullPolicy = stringTo[corev1.PullPolicy](in.ImagePullPolicy)
	out.Resources = documentTo[corev1.ResourceRequirements](d, in.Resources, path.Child("resources"))
	out.Env = documents(d, in.Env, out.Env, path.Child("env"))
}

func (e *encoding) collector(in *rayv1.CollectorOptions) *raygatev2.CollectorOptions {
	return &raygatev2.CollectorOptions{
		Image:           copyOf(in.Image),
		ImagePullPolicy: stringFrom(in.ImagePullPolicy),
		Resources:       e.document(in.Resources),
		Env:             encodeList(e, in.Env),
	}
}

func (d *decoding) networkPolicy(in *raygatev2.NetworkPolicyConfig, out *rayv1.NetworkPolicyConfig, path *field.Path) {
	out.Mode = stringTo[rayv1.NetworkPolicyMode](in.Mode)
	out.Head = message(in.Head, path.Child("head"), d.networkPolicyRules)
	out.Worker = message(in.Worker, path.Child("worker"), d.networkPolicyRules)
	out.WorkerGroups = list(d, in.WorkerGroups, path.Child("workerGroups"), d.groupNetworkPolicyRules)
}

func (e *encoding) networkPolicy(in *rayv1.NetworkPolicyConfig) *raygatev2.NetworkPolicyConfig {
	return &raygatev2.NetworkPolicyConfig{
		Mode:         stringFrom(in.Mode),
		Head:         present(in.Head, e.networkPolicyRules),
		Worker:       present(in.Worker, e.networkPolicyRules),
		WorkerGroups: mapped(in.WorkerGroups, e.groupNetworkPolicyRules),
	}
}

func (d *decoding) networkPolicyRules(in *raygatev2.NetworkPolicyRules, out *rayv1.NetworkPolicyRules, path *field.Path) {
	out.IngressRules = documents(d, in.IngressRules, out.IngressRules, path.Child("ingressRules"))
	out.EgressRules = documents(d, in.EgressRules, out.EgressRules, path.Child("egressRules"))
}

func (e *encoding) networkPolicyRules(in *rayv1.NetworkPolicyRules) *raygatev2.NetworkPolicyRules {
	return &raygatev2.NetworkPolicyRules{
		IngressRules: encodeList(e, in.IngressRules),
		EgressRules:  encodeList(e, in.EgressRules),
	}
}

func (d *decoding) groupNetworkPolicyRules(in *raygatev2.WorkerGroupNetworkPolicyRules, out *rayv1.WorkerGroupNetworkPolicyRules, path *field.Path) {
	out.GroupName = in.GroupName
	out.IngressRules = documents(d, in.IngressRules, out.IngressRules, path.Child("ingressRules"))
	out.EgressRules = documents(d, in.EgressRules, out.EgressRules, path.Child("egressRules"))
}

func (e *encoding) groupNetworkPolicyRules(in *rayv1.WorkerGroupNetworkPolicyRules) *raygatev2.WorkerGroupNetworkPolicyRules {
	return &raygatev2.WorkerGroupNetworkPolicyRules{
		GroupName:    in.GroupName,
		IngressRules: encodeList(e, in.IngressRules),
		EgressRules:  encodeList(e, in.EgressRules),
	}
}
