package kueue

import (
	"errors"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/controlplane"
)

// dispatch makes a queue whose work runs in another Kubernetes cluster.
const dispatch = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: worker}
spec: {clusterSource: {kubeConfig: {locationType: Secret, location: worker}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: elsewhere}
spec: {clusters: [worker]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: elsewhere}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: elsewhere}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: elsewhere}
spec:
  namespaceSelector: {}
  admissionChecksStrategy: {admissionChecks: [{name: elsewhere}]}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: any
      resources: [{name: cpu, nominalQuota: 8}, {name: memory, nominalQuota: 16Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: elsewhere}
spec: {clusterQueue: elsewhere}
`

// work has the queue of that name in the other cluster.
const work = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: elsewhere}
spec: {clusterQueue: all}
`

// multiKueue: a job runs in another Kubernetes cluster, which has an operator of its own. Its status comes back, and the operator here leaves it alone.
func (w *world) multiKueue() {
	worker := controlplane.Start(w.T, controlplane.Options{Own: true})
	there, err := client.New(worker.Config, client.Options{Scheme: controlplane.Scheme(w.T)})
	if err != nil {
		w.Fatal(err)
	}
	create(w.T, there, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	startKueue(w.T, there, worker.Kubeconfig)
	startOperator(w.T, worker)
	w.addQueues(there, queues+"---"+work)
	kubeconfig, err := os.ReadFile(worker.Kubeconfig)
	if err != nil {
		w.Fatal(err)
	}
	create(w.T, w.client, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: kueueNamespace, Name: "worker"}, Data: map[string][]byte{"kubeconfig": kubeconfig},
	})
	w.addQueues(w.client, dispatch)

	key := client.ObjectKey{Namespace: w.namespace, Name: "away"}
	w.submit(key.Name, "--queue", "elsewhere")
	w.awaitJob(key.Name, rayv1.JobDeploymentStatusRunning)
	w.awaitFinding("rayjob/away", "ManagedElsewhere", "multikueue")
	remote := &rayv1.RayJob{}
	if err := there.Get(w.Context(), key, remote); err != nil {
		w.Fatal(err)
	}
	cluster := client.ObjectKey{Namespace: w.namespace, Name: remote.Status.RayClusterName}
	if err := there.Get(w.Context(), cluster, &rayv1.RayCluster{}); err != nil {
		w.Errorf("the cluster of the job in the other cluster: %v", err)
	}
	if err := w.client.Get(w.Context(), cluster, &rayv1.RayCluster{}); !apierrors.IsNotFound(err) {
		w.Errorf("the cluster of the job also exists here: %v", err)
	}
	w.finish(key.Name)
	w.awaitJob(key.Name, rayv1.JobDeploymentStatusComplete)
	w.eventually("the job is taken away there", func() error {
		if err := there.Get(w.Context(), key, remote); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it still exists"), err)
		}
		return nil
	})
}
