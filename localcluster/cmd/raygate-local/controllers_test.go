package main

import (
	"strings"
	"testing"
)

// acts is an object for each controller that the control plane runs beside those for Pods on nodes.
const acts = `
apiVersion: v1
kind: Namespace
metadata: {name: acts}
---
apiVersion: v1
kind: Namespace
metadata: {name: acts-without-pods}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: plain, namespace: acts}
spec: {selector: {matchLabels: {app: plain}}, template: {metadata: {labels: {app: plain}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: plain, namespace: acts}
spec: {minAvailable: 0, selector: {matchLabels: {app: plain}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set, namespace: acts}
spec: {serviceName: set, selector: {matchLabels: {app: set}}, template: {metadata: {labels: {app: set}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon, namespace: acts}
spec: {selector: {matchLabels: {app: daemon}}, template: {metadata: {labels: {app: daemon}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: timed, namespace: acts}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: short, namespace: acts}
spec:
  ttlSecondsAfterFinished: 0
  template: {metadata: {annotations: {raygate.io/sim-exit-code: "0"}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: acts}
spec: {hard: {count/configmaps: "7"}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: acts}
spec: {storageClassName: acts, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /nowhere}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim, namespace: acts}
spec: {storageClassName: acts, resources: {requests: {storage: 1Gi}}, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: acts, annotations: {kubernetes.io/service-account.name: default}}
type: kubernetes.io/service-account-token
---
apiVersion: v1
kind: Service
metadata: {name: elsewhere, namespace: acts}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: elsewhere, namespace: acts}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acts-part, labels: {part-of: acts}}
rules: [{apiGroups: [ray.io], resources: [rayclusters], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acts-whole}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: acts}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: device, namespace: acts}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: none}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: device, namespace: acts}
spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: device}], containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: acts}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: object.spec.replicas == 'many'}]
`

// testControllers waits for the outcome of each of the controllers of Kubernetes.
func testControllers(t *testing.T, c *cluster) {
	run := func(stdin, args string) string {
		t.Helper()
		out, code := c.kubectl(t, stdin, strings.Fields(args)...)
		if code != 0 {
			t.Errorf("kubectl %s: exit code %d\n%s", args, code, out)
		}
		return out
	}
	run(acts, "apply -f -")
	run("", "-n acts patch cronjob timed --subresource=status --type=merge -p {\"status\":{\"lastScheduleTime\":\"2020-01-01T00:00:00Z\"}}")
	for _, outcome := range []string{
		"deployment/plain --for=jsonpath={.status.readyReplicas}=1",
		"pdb/plain --for=jsonpath={.status.currentHealthy}=1",
		"statefulset/set --for=jsonpath={.status.readyReplicas}=1",
		"daemonset/daemon --for=jsonpath={.status.numberReady}=1",
		"cronjob/timed --for=jsonpath={.status.active[0].kind}=Job",
		"job/short --for=delete",
		"quota/quota --for=jsonpath={.status.used.count/configmaps}=1", // the published certificates
		"pvc/claim --for=jsonpath={.status.phase}=Bound",
		"secret/token --for=jsonpath={.data.token}",
		"secret/token --for=jsonpath={.data.ca\\.crt}",
		"configmap/kube-root-ca.crt --for=create",
		"endpointslice -l kubernetes.io/service-name=elsewhere --for=jsonpath={.endpoints[0].addresses[0]}=192.0.2.1",
		"clusterrole/acts-whole --for=jsonpath={.rules[0].resources[0]}=rayclusters",
		"pod/device --for=jsonpath={.status.resourceClaimStatuses[0].name}=gpu",
		"validatingadmissionpolicy/acts --for=jsonpath={.status.typeChecking.expressionWarnings[0].fieldRef}=spec.validations[0].expression",
	} {
		run("", "-n acts wait --timeout="+patience.String()+" "+outcome)
	}

	replicas := strings.TrimSpace(run("", "-n acts get replicaset -l app=plain -o name"))
	run("", "-n acts delete deployment plain")
	run("", "-n acts wait --for=delete --timeout="+patience.String()+" "+replicas)
	for _, deleted := range []string{"pvc claim", "pv acts", "namespace acts-without-pods"} { // in this order: each of the first two has a finalizer
		run("", "-n acts delete --timeout="+patience.String()+" "+deleted)
	}
	run("", "delete namespace/acts clusterrole/acts-part clusterrole/acts-whole validatingadmissionpolicy/acts --wait=false")
}
