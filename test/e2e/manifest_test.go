package e2e

import "fmt"

// manifest is a small RayCluster as YAML, the way a user would type it.
func manifest(name, namespace string, workers int) []byte {
	return fmt.Appendf(nil, `apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: %s
  namespace: %s
  labels: {team: e2e}
spec:
  rayVersion: 2.52.0
  headGroupSpec:
    rayStartParams: {dashboard-host: 0.0.0.0}
    template:
      spec:
        containers:
        - name: ray-head
          image: rayproject/ray:2.52.0
          resources:
            requests: {cpu: "1", memory: 2Gi}
            limits: {cpu: "1", memory: 2Gi}
  workerGroupSpecs:
  - groupName: cpu
    replicas: %d
    minReplicas: 0
    maxReplicas: 100
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: ray-worker
          image: rayproject/ray:2.52.0
          resources:
            requests: {cpu: "1", memory: 1Gi}
            limits: {cpu: "1", memory: 1Gi}
`, name, namespace, workers)
}
