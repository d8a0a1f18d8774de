package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	serviceaccounts "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/generated/openapi"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// workers is how many objects each controller works on at a time. Tests delete and create many at once.
const (
	workers          = 20
	collectorWorkers = 50
)

// loop is what a controller does until the context ends.
type loop = func(ctx context.Context)

// constructors register informers with the manager and return the loops of controllers.
var constructors = []func(ctx context.Context, m *manager) ([]loop, error){
	identities, collectors, quotas, workloads, jobs, services, disruptions, volumes, claims, policies,
}

// with calls the Run function of a controller with the number of workers.
func with(run func(ctx context.Context, workers int)) loop {
	return func(ctx context.Context) { run(ctx, workers) }
}

// identities are ServiceAccounts, their tokens in Secrets, the certificates that they trust, and ClusterRoles that consist of others.
func identities(ctx context.Context, m *manager) ([]loop, error) {
	core, log := m.typed.Core().V1(), klog.FromContext(ctx)
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, m.key)
	if err != nil {
		return nil, fmt.Errorf("making generator of tokens: %w", err)
	}
	tokens, err := serviceaccounts.NewTokensController(log, core.ServiceAccounts(), core.Secrets(), m.client,
		serviceaccounts.TokensControllerOptions{TokenGenerator: generator, RootCA: m.rootCA})
	if err != nil {
		return nil, fmt.Errorf("making controller of tokens: %w", err)
	}
	accounts, err := serviceaccounts.NewServiceAccountsController(log, core.ServiceAccounts(), core.Namespaces(), m.client,
		serviceaccounts.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return nil, fmt.Errorf("making controller of ServiceAccounts: %w", err)
	}
	publisher, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), m.client, m.rootCA)
	if err != nil {
		return nil, fmt.Errorf("making publisher of certificates: %w", err)
	}
	roles := clusterroleaggregation.NewClusterRoleAggregation(m.typed.Rbac().V1().ClusterRoles(), m.client.RbacV1())
	return []loop{with(tokens.Run), with(accounts.Run), with(publisher.Run), with(roles.Run)}, nil
}

// collectors delete what belongs to deleted owners and namespaces.
func collectors(ctx context.Context, m *manager) ([]loop, error) {
	garbage, err := garbagecollector.NewGarbageCollector(ctx, m.client, m.metadata, m.mapper, garbagecollector.DefaultIgnoredResources(), m.informers(), m.started)
	if err != nil {
		return nil, fmt.Errorf("making garbage collector: %w", err)
	}
	namespaces := namespace.NewNamespaceController(ctx, m.client, m.metadata, m.discovery.ServerPreferredNamespacedResources,
		m.typed.Core().V1().Namespaces(), 5*time.Minute, corev1.FinalizerKubernetes)
	return []loop{
		func(ctx context.Context) { garbage.Run(ctx, collectorWorkers, discoveryPeriod) },
		func(ctx context.Context) { garbage.Sync(ctx, m.discovery, discoveryPeriod) },
		with(namespaces.Run),
	}, nil
}

func quotas(ctx context.Context, m *manager) ([]loop, error) {
	rules, err := quotainstall.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(m.typed.ForResource), m.typed)
	if err != nil {
		return nil, fmt.Errorf("making evaluators of quotas: %w", err)
	}
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               m.client.CoreV1(),
		ResourceQuotaInformer:     m.typed.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(5 * time.Minute),
		Registry:                  generic.NewRegistry(rules.Evaluators()),
		DiscoveryFunc:             m.discovery.ServerPreferredNamespacedResources,
		IgnoredResourcesFunc:      rules.IgnoredResources,
		InformersStarted:          m.started,
		InformerFactory:           m.informers(),
		ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(informerResync),
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, fmt.Errorf("making controller of quotas: %w", err)
	}
	return []loop{
		with(c.Run),
		func(ctx context.Context) {
			c.Sync(ctx, m.discovery.ServerPreferredNamespacedResources, discoveryPeriod)
		},
	}, nil
}

func workloads(ctx context.Context, m *manager) ([]loop, error) {
	apps, core := m.typed.Apps().V1(), m.typed.Core().V1()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), m.client)
	if err != nil {
		return nil, fmt.Errorf("making controller of Deployments: %w", err)
	}
	daemons, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), m.client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return nil, fmt.Errorf("making controller of DaemonSets: %w", err)
	}
	replicas := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), m.client, replicaset.BurstReplicas)
	sets := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), m.client)
	return []loop{with(deployments.Run), with(daemons.Run), with(replicas.Run), with(sets.Run)}, nil
}

func jobs(ctx context.Context, m *manager) ([]loop, error) {
	batch := m.typed.Batch().V1()
	// Without informers of Workloads, as with Kubernetes' default features.
	plain, err := job.NewController(ctx, m.client, m.typed.Core().V1().Pods(), batch.Jobs(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making controller of Jobs: %w", err)
	}
	timed, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), m.client)
	if err != nil {
		return nil, fmt.Errorf("making controller of CronJobs: %w", err)
	}
	finished := ttlafterfinished.New(ctx, batch.Jobs(), m.client)
	return []loop{with(plain.Run), with(timed.Run), with(finished.Run)}, nil
}

func services(ctx context.Context, m *manager) ([]loop, error) {
	const perSlice, perSubset, mirrorBatch = 100, 1000, 500 * time.Millisecond // as Kubernetes' defaults
	core, slices := m.typed.Core().V1(), m.typed.Discovery().V1().EndpointSlices()
	return []loop{
		with(endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), m.client, 0).Run),
		with(endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), slices, perSlice, m.client, 0).Run),
		with(endpointslicemirroring.NewController(ctx, core.Endpoints(), slices, core.Services(), perSubset, m.client, mirrorBatch).Run),
	}, nil
}

func disruptions(ctx context.Context, m *manager) ([]loop, error) {
	apps, core := m.typed.Apps().V1(), m.typed.Core().V1()
	c := disruption.NewDisruptionController(ctx, core.Pods(), m.typed.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(), apps.ReplicaSets(),
		apps.Deployments(), apps.StatefulSets(), m.client, m.mapper, m.scales, m.discovery)
	return []loop{with(c.Run)}, nil
}

// volumes binds claims to volumes that exist. Simulated nodes have no disks, so nothing provides volumes or attaches them.
func volumes(ctx context.Context, m *manager) ([]loop, error) {
	core, log := m.typed.Core().V1(), klog.FromContext(ctx)
	binder, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient:                m.client,
		SyncPeriod:                15 * time.Second,
		VolumeInformer:            core.PersistentVolumes(),
		ClaimInformer:             core.PersistentVolumeClaims(),
		ClassInformer:             m.typed.Storage().V1().StorageClasses(),
		PodInformer:               core.Pods(),
		NodeInformer:              core.Nodes(),
		EnableDynamicProvisioning: true,
	})
	if err != nil {
		return nil, fmt.Errorf("making binder of volumes: %w", err)
	}
	claims, err := pvcprotection.NewPVCProtectionController(log, core.PersistentVolumeClaims(), core.Pods(), m.client)
	if err != nil {
		return nil, fmt.Errorf("making protection of claims: %w", err)
	}
	disks, err := pvprotection.NewPVProtectionController(log, core.PersistentVolumes(), m.client)
	if err != nil {
		return nil, fmt.Errorf("making protection of volumes: %w", err)
	}
	return []loop{binder.Run, with(claims.Run), with(disks.Run)}, nil
}

// claims makes ResourceClaims of the templates that Pods name.
func claims(ctx context.Context, m *manager) ([]loop, error) {
	resources := m.typed.Resource().V1()
	c, err := resourceclaim.NewController(klog.FromContext(ctx), m.client, m.typed.Core().V1().Pods(), nil, resources.ResourceClaims(), resources.ResourceClaimTemplates())
	if err != nil {
		return nil, fmt.Errorf("making controller of ResourceClaims: %w", err)
	}
	return []loop{with(c.Run)}, nil
}

// policies reports faults in the types of ValidatingAdmissionPolicies in their status.
func policies(_ context.Context, m *manager) ([]loop, error) {
	schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensionsscheme.Scheme).
		Combine(&resolver.ClientDiscoveryResolver{Discovery: m.discovery})
	c, err := validatingadmissionpolicystatus.NewController(m.typed.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		m.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), &validatingpolicy.TypeChecker{SchemaResolver: schemas, RestMapper: m.mapper})
	if err != nil {
		return nil, fmt.Errorf("making controller of policies: %w", err)
	}
	return []loop{with(c.Run)}, nil
}
