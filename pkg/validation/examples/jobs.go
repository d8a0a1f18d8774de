package examples

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// BaseJob is a RayJob with its own cluster that breaks no rule and gives no warning.
func BaseJob() *rayv1.RayJob {
	rj := &rayv1.RayJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec:       rayv1.RayJobSpec{Entrypoint: "python main.py", RayClusterSpec: &Base().Spec, ShutdownAfterJobFinishes: true},
	}
	rayv1.SetRayJobDefaults(rj)
	return rj
}

type job = rayv1.RayJob

// forJob gives a change of a RayJobSpec to a RayJob.
func forJob(f func(*rayv1.RayJobSpec)) func(*job) { return func(rj *job) { f(&rj.Spec) } }

// all applies changes in order.
func all[T any](changes ...func(*T)) func(*T) {
	return func(object *T) {
		for _, change := range changes {
			change(object)
		}
	}
}

func mode(m rayv1.JobSubmissionMode) func(*job) {
	return forJob(func(s *rayv1.RayJobSpec) {
		s.SubmissionMode = m
		if m == rayv1.InteractiveMode {
			s.Entrypoint = ""
		}
	})
}

// selects runs the job on a cluster that exists.
func selects(rj *job) {
	rj.Spec.RayClusterSpec, rj.Spec.ShutdownAfterJobFinishes = nil, false
	rj.Spec.ClusterSelector = map[string]string{rayv1.LabelCluster: "shared"}
}

func jobHead(rj *job) *corev1.Container {
	return &rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0]
}

// inState is a status that the operator wrote.
func inState(state rayv1.JobDeploymentStatus) func(*job) {
	return func(rj *job) {
		rj.Status.JobDeploymentStatus, rj.Status.RayClusterName, rj.Status.JobId = state, "demo-abcde", "demo-fghij"
	}
}

func submitter(restart corev1.RestartPolicy, containers ...corev1.Container) func(*job) {
	return forJob(func(s *rayv1.RayJobSpec) {
		s.SubmitterPodTemplate = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: restart, Containers: containers}}
	})
}

func jobRows() []row[job] {
	var rows []row[job]
	for _, list := range [][]row[job]{jobMetadata(), jobClusters(), submission(), limits(), deletion(), payload(), jobUpdates()} {
		rows = append(rows, list...)
	}
	return rows
}

func jobMetadata() []row[job] {
	name := at("metadata.name")
	rename := func(name string) func(*job) { return func(rj *job) { rj.Name = name } }
	labelled := func(key, value string) func(*job) {
		return func(rj *job) { metav1.SetMetaDataLabel(&rj.ObjectMeta, key, value) }
	}
	kueue := labelled("kueue.x-k8s.io/queue-name", "q")
	retryOn := func(text string) func(*job) {
		return func(rj *job) { metav1.SetMetaDataAnnotation(&rj.ObjectMeta, rayv1.AnnotationRetryOn, text) }
	}
	return []row[job]{
		{ID: "RJ-020", Name: "48 characters", Mutate: rename(strings.Repeat("a", 48)), Fix: rename(strings.Repeat("a", 47)), WantFields: name},
		{ID: "RJ-020", Name: "generated name too long", Mutate: func(rj *job) { rj.Name, rj.GenerateName = "", strings.Repeat("a", 43) }, Fix: func(rj *job) { rj.GenerateName = "a-" }, WantFields: at("metadata.generateName")},
		{ID: "RJ-021", Name: "dot", Mutate: rename("in.valid"), Fix: rename("in-valid"), WantFields: name},
		{ID: "RJ-021", Name: "digit first", Mutate: rename("1abc"), Fix: rename("abc1"), WantFields: name},
		{ID: "RC-579", Name: "tier in words", Before: labelled(rayv1.LabelVolcanoNetworkTopologyMode, "hard"), Options: volcano, Mutate: labelled(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "two"), Fix: labelled(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "2"), WantFields: at("metadata.labels[volcano.sh/network-topology-highest-tier-allowed]")},
		{ID: "RC-577", Name: "false means on", Mutate: labelled(rayv1.LabelGangSchedulingEnabled, "false"), Fix: labelled(rayv1.LabelGangSchedulingEnabled, "true"), WantFields: at("metadata.labels[ray.io/gang-scheduling-enabled]"), Warning: true},
		{ID: "RJ-066", Name: "scheduler-plugins", Mutate: func(*job) {}, WantFields: at("kind"), Options: validation.Options{BatchScheduler: new("scheduler-plugins")}, FixOptions: &validation.Options{}},
		{ID: "RJ-538", Name: "a word", Mutate: retryOn("Same"), Fix: retryOn("NewCluster"), WantFields: at("metadata.annotations[raygate.io/retry-on]"), Warning: true},
		{ID: "RJ-539", Name: "no retries", Mutate: retryOn("SameCluster"), Fix: forJob(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(2)) }), WantFields: at("metadata.annotations[raygate.io/retry-on]"), Warning: true},
		{ID: "RJ-540", Name: "not interactive", Mutate: func(rj *job) { metav1.SetMetaDataAnnotation(&rj.ObjectMeta, rayv1.AnnotationIdleTimeout, "30m") },
			Fix: forJob(func(s *rayv1.RayJobSpec) { s.SubmissionMode, s.Entrypoint = rayv1.InteractiveMode, "" }), WantFields: at("metadata.annotations[raygate.io/idle-timeout]"), Warning: true},
		{ID: "RJ-581", Name: "no spec", Mutate: func(rj *job) { rj.Spec = rayv1.RayJobSpec{} }, WantFields: at("spec")},
		{ID: "X-502", Name: "kept cluster", Mutate: all(kueue, func(rj *job) { rj.Spec.ShutdownAfterJobFinishes = false }), Fix: func(rj *job) { rj.Spec.ShutdownAfterJobFinishes = true }, WantFields: at("spec.shutdownAfterJobFinishes"), Warning: true},
		{ID: "X-502", Name: "autoscaling", Mutate: all(kueue, func(rj *job) { rj.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(true) }), Fix: func(rj *job) { rj.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(false) }, WantFields: at("spec.rayClusterSpec.enableInTreeAutoscaling"), Warning: true},
		{ID: "X-502", Name: "seven groups", Mutate: all(kueue, func(rj *job) {
			g := rj.Spec.RayClusterSpec.WorkerGroupSpecs[0]
			for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
				other := *g.DeepCopy()
				other.GroupName = name
				rj.Spec.RayClusterSpec.WorkerGroupSpecs = append(rj.Spec.RayClusterSpec.WorkerGroupSpecs, other)
			}
		}), Fix: func(rj *job) {
			rj.Spec.RayClusterSpec.WorkerGroupSpecs = rj.Spec.RayClusterSpec.WorkerGroupSpecs[:6]
		}, WantFields: at("spec.rayClusterSpec.workerGroupSpecs"), Warning: true},
		{ID: "X-502", Name: "group named head", Mutate: all(kueue, func(rj *job) { rj.Spec.RayClusterSpec.WorkerGroupSpecs[0].GroupName = "head" }), Fix: func(rj *job) { rj.Spec.RayClusterSpec.WorkerGroupSpecs[0].GroupName = "a" }, WantFields: at("spec.rayClusterSpec.workerGroupSpecs[0].groupName"), Warning: true},
	}
}

func jobClusters() []row[job] {
	const c = "spec.rayClusterSpec"
	container0 := c + ".headGroupSpec.template.spec.containers[0]"
	sidecarMode := mode(rayv1.SidecarMode)
	ports := func(name string) func(*job) {
		return func(rj *job) { jobHead(rj).Ports = []corev1.ContainerPort{{Name: name, ContainerPort: 8265}} }
	}
	return []row[job]{
		{ID: "RJ-046", Name: "no cluster", Mutate: func(rj *job) { rj.Spec.RayClusterSpec = nil }, Fix: selects, WantFields: at(c)},
		{ID: "RJ-046", Name: "empty selector", Mutate: func(rj *job) { rj.Spec.RayClusterSpec, rj.Spec.ClusterSelector = nil, map[string]string{} }, Fix: selects, WantFields: at(c)},
		{ID: "RJ-047", Name: "another key", Mutate: all(selects, func(rj *job) { rj.Spec.ClusterSelector = map[string]string{"key": "value"} }), Fix: selects, WantFields: at("spec.clusterSelector")},
		{ID: "RJ-053", Name: "always", Mutate: all(sidecarMode, func(rj *job) { rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.RestartPolicy = "Always" }), Fix: func(rj *job) { rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.RestartPolicy = "Never" }, WantFields: at(c + ".headGroupSpec.template.spec.restartPolicy")},
		{ID: "RJ-054", Name: "token of Kubernetes", Mutate: func(rj *job) {
			rj.Spec.RayClusterSpec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)}
		}, Fix: func(rj *job) { rj.Spec.RayClusterSpec.AuthOptions.EnableK8sTokenAuth = new(false) }, WantFields: at(c + ".authOptions.enableK8sTokenAuth")},
		{ID: "RJ-062", Name: "no such cluster", Mutate: selects, WantFields: at("spec.clusterSelector"), Options: validation.Options{Facts: &validation.Facts{SelectedClusterMissing: true}}},
		{ID: "RJ-063", Name: "KAI", Mutate: func(*job) {}, Before: func(*job) {}, Fix: mode(rayv1.HTTPMode), WantFields: at("spec.submissionMode"), Options: validation.Options{BatchScheduler: new("kai-scheduler")}},
		{ID: "RJ-064", Name: "Volcano", Mutate: selects, WantFields: at("spec.clusterSelector"), Options: validation.Options{BatchScheduler: new("volcano")}},
		{ID: "RJ-505", Name: "both", Mutate: func(rj *job) {
			cluster := rj.Spec.RayClusterSpec
			selects(rj)
			rj.Spec.RayClusterSpec = cluster
		}, Fix: func(rj *job) { rj.Spec.ClusterSelector = nil }, WantFields: at(c), Warning: true},
		{ID: "RJ-506", Name: "more keys", Mutate: all(selects, func(rj *job) { rj.Spec.ClusterSelector["team"] = "a" }), Fix: selects, WantFields: at("spec.clusterSelector[team]"), Warning: true},
		{ID: "RJ-528", Name: "another controller", Mutate: func(rj *job) { rj.Spec.RayClusterSpec.ManagedBy = new(rayv1.ManagedByMultiKueue) }, Fix: func(rj *job) { rj.Spec.RayClusterSpec.ManagedBy = new(rayv1.ManagedByKubeRayOperator) }, WantFields: at(c + ".managedBy"), Warning: true},
		{ID: "RJ-529", Name: "suspended cluster", Mutate: func(rj *job) { rj.Spec.RayClusterSpec.Suspend = new(true) }, Fix: func(rj *job) { rj.Spec.RayClusterSpec.Suspend = new(false) }, WantFields: at(c + ".suspend"), Warning: true},
		{ID: "RJ-530", Name: "recreate", Mutate: func(rj *job) {
			rj.Spec.RayClusterSpec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
		}, Fix: func(rj *job) { rj.Spec.RayClusterSpec.UpgradeStrategy.Type = nil }, WantFields: at(c + ".upgradeStrategy.type")},
		{ID: "RJ-533", Name: "submitter of one's own", Mutate: all(sidecarMode, func(rj *job) {
			pod := &rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec
			pod.Containers = append(pod.Containers, sidecar("ray-job-submitter"))
		}), Fix: mode(rayv1.K8sJobMode), WantFields: at(c + ".headGroupSpec.template.spec.containers[1].name")},
		{ID: "RC-525", Name: "submitter as init container", Mutate: all(sidecarMode, func(rj *job) {
			pod := &rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec
			pod.InitContainers = append(pod.InitContainers, sidecar("ray-job-submitter"))
		}), Fix: mode(rayv1.K8sJobMode), WantFields: at(c + ".headGroupSpec.template.spec.initContainers[0].name")},
		{ID: "RJ-535", Name: "no dashboard", Mutate: ports("web"), Fix: ports("dashboard"), WantFields: at(container0 + ".ports"), Warning: true},
	}
}

func submission() []row[job] {
	entrypoint := func(text string) func(*job) { return func(rj *job) { rj.Spec.Entrypoint = text } }
	sub, entry := sidecar("submit"), at("spec.entrypoint")
	own := sub
	own.Command = []string{"./submit"}
	twice := sub
	twice.Env = []corev1.EnvVar{{Name: "A"}, {Name: "A"}}
	ready := own
	ready.Args = []string{"--now"}
	inSubmitter := func(change func(*corev1.Container)) func(*job) {
		changed := *sub.DeepCopy()
		change(&changed)
		return submitter("Never", changed)
	}
	requests := func(request, limit string) func(*corev1.Container) {
		return func(c *corev1.Container) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)}
		}
	}
	const container0 = "spec.submitterPodTemplate.spec.containers[0]"
	config := func(n int32) func(*job) {
		return func(rj *job) { rj.Spec.SubmitterConfig = &rayv1.SubmitterConfig{BackoffLimit: &n} }
	}
	noConfig := func(rj *job) { rj.Spec.SubmitterConfig = nil }
	noTemplate := func(rj *job) { rj.Spec.SubmitterPodTemplate = nil }
	return []row[job]{
		{ID: "RJ-048", Name: "with a selector", Mutate: all(selects, mode(rayv1.SidecarMode)), Fix: mode(rayv1.HTTPMode), WantFields: at("spec.submissionMode")},
		{ID: "RJ-501", Name: "misspelt", Mutate: mode("HttpMode"), Fix: mode("HTTPMode"), WantFields: at("spec.submissionMode"), Warning: true},
		{ID: "RJ-502", Name: "blank", Mutate: entrypoint("  "), Fix: mode(rayv1.InteractiveMode), WantFields: entry, Warning: true},
		{ID: "RJ-502", Name: "empty", Mutate: entrypoint(""), Fix: submitter("Never", ready), WantFields: entry, Warning: true},
		{ID: "RJ-503", Name: "interactive", Mutate: all(mode(rayv1.InteractiveMode), entrypoint("python main.py")), Fix: entrypoint(""), WantFields: entry, Warning: true},
		{ID: "RJ-504", Name: "two commands", Mutate: entrypoint("a; b"), Fix: entrypoint("bash -c 'a; b'"), WantFields: entry, Warning: true},
		{ID: "RJ-504", Name: "open quote", Mutate: all(mode(rayv1.HTTPMode), entrypoint("echo 'a")), Fix: entrypoint("echo 'a'; b"), WantFields: entry, Warning: true},
		{ID: "RJ-051", Name: "sidecar", Mutate: all(mode(rayv1.SidecarMode), submitter("Never", sub)), Fix: mode(rayv1.K8sJobMode), WantFields: at("spec.submitterPodTemplate")},
		{ID: "RJ-052", Name: "sidecar", Mutate: all(mode(rayv1.SidecarMode), config(1)), Fix: noConfig, WantFields: at("spec.submitterConfig"), Options: gate(validation.GateSidecarSubmitterRestart, false)},
		{ID: "RJ-052", Name: "sidecar, gate not known", Mutate: all(mode(rayv1.SidecarMode), config(1)), Fix: noConfig, WantFields: at("spec.submitterConfig"), Warning: true},
		{ID: "RJ-508", Name: "HTTP", Mutate: all(mode(rayv1.HTTPMode), submitter("Never", sub)), Fix: noTemplate, WantFields: at("spec.submitterPodTemplate"), Warning: true},
		{ID: "RJ-509", Name: "unset", Mutate: submitter("", sub), Fix: submitter("Never", sub), WantFields: at("spec.submitterPodTemplate.spec.restartPolicy")},
		{ID: "RJ-509", Name: "always", Mutate: submitter("Always", sub), Fix: submitter("OnFailure", sub), WantFields: at("spec.submitterPodTemplate.spec.restartPolicy")},
		{ID: "RJ-510", Name: "no container", Mutate: submitter("Never"), Fix: submitter("Never", sub), WantFields: at("spec.submitterPodTemplate.spec.containers")},
		{ID: "RC-017", Name: "variable of the submitter twice", Mutate: submitter("Never", twice), Fix: submitter("Never", sub), WantFields: at("spec.submitterPodTemplate.spec.containers[0].env[1].name")},
		{ID: "RC-016", Name: "submitter without a name", Mutate: inSubmitter(func(c *corev1.Container) { c.Name = "" }), Fix: submitter("Never", sub), WantFields: at(container0 + ".name")},
		{ID: "RC-530", Name: "label of the submitter", Mutate: all(submitter("Never", sub), func(rj *job) { rj.Spec.SubmitterPodTemplate.Labels = map[string]string{"a": "b c"} }), Fix: submitter("Never", sub), WantFields: at("spec.submitterPodTemplate.metadata.labels[a]")},
		{ID: "RC-540", Name: "capital of the submitter", Mutate: inSubmitter(func(c *corev1.Container) { c.Name = "Submit" }), Fix: submitter("Never", sub), WantFields: at(container0 + ".name")},
		{ID: "RC-541", Name: "port of the submitter", Mutate: inSubmitter(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 70000}} }), Fix: inSubmitter(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 7000}} }), WantFields: at(container0 + ".ports[0].containerPort")},
		{ID: "RC-549", Name: "mount of the submitter", Mutate: inSubmitter(func(c *corev1.Container) { mount(c, "data", "/data") }), Fix: func(rj *job) { rj.Spec.SubmitterPodTemplate.Spec.Volumes = []corev1.Volume{emptyDir("data")} }, WantFields: at(container0 + ".volumeMounts[0].name"), Warning: true},
		{ID: "RC-565", Name: "request of the submitter", Mutate: inSubmitter(requests("2", "1")), Fix: inSubmitter(requests("1", "1")), WantFields: at(container0 + ".resources.requests[cpu]")},
		{ID: "RJ-511", Name: "negative", Mutate: config(-1), Fix: config(0), WantFields: at("spec.submitterConfig.backoffLimit")},
		{ID: "RJ-512", Name: "HTTP", Mutate: all(mode(rayv1.HTTPMode), config(1)), Fix: noConfig, WantFields: at("spec.submitterConfig"), Warning: true},
		{ID: "RJ-534", Name: "command without args", Mutate: submitter("Never", own), Fix: submitter("Never", ready), WantFields: at("spec.submitterPodTemplate.spec.containers[0].command"), Warning: true},
	}
}

func limits() []row[job] {
	set := forJob
	suspend := at("spec.suspend")
	return []row[job]{
		{ID: "RJ-022", Name: "kept cluster", Mutate: set(func(s *rayv1.RayJobSpec) { s.Suspend, s.ShutdownAfterJobFinishes = true, false }), Fix: set(func(s *rayv1.RayJobSpec) { s.ShutdownAfterJobFinishes = true }), WantFields: suspend},
		{ID: "RJ-045", Name: "with a selector", Mutate: all(selects, set(func(s *rayv1.RayJobSpec) { s.Suspend, s.ShutdownAfterJobFinishes = true, true })), Fix: set(func(s *rayv1.RayJobSpec) { s.Suspend = false }), WantFields: suspend},
		{ID: "RJ-049", Name: "with a selector", Mutate: all(selects, set(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(1)) })), Fix: set(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(0)) }), WantFields: at("spec.backoffLimit")},
		{ID: "RJ-050", Name: "interactive", Mutate: all(mode(rayv1.InteractiveMode), set(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(1)) })), Fix: set(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(0)) }), WantFields: at("spec.backoffLimit")},
		{ID: "RJ-059", Name: "negative", Mutate: set(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(-1)) }), Fix: set(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(3)) }), WantFields: at("spec.backoffLimit")},
		{ID: "RJ-057", Name: "0", Mutate: set(func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(0)) }), Fix: set(func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(1)) }), WantFields: at("spec.activeDeadlineSeconds")},
		{ID: "RJ-007", Name: "0", Mutate: set(func(s *rayv1.RayJobSpec) { s.PreRunningDeadlineSeconds = new(int32(0)) }), Fix: set(func(s *rayv1.RayJobSpec) { s.PreRunningDeadlineSeconds = new(int32(1)) }), WantFields: at("spec.preRunningDeadlineSeconds")},
		{ID: "RJ-531", Name: "above the other", Mutate: set(func(s *rayv1.RayJobSpec) {
			s.PreRunningDeadlineSeconds, s.ActiveDeadlineSeconds = new(int32(20)), new(int32(10))
		}), Fix: set(func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(20)) }), WantFields: at("spec.preRunningDeadlineSeconds"), Warning: true},
		{ID: "RJ-532", Name: "with a selector", Mutate: all(selects, set(func(s *rayv1.RayJobSpec) { s.PreRunningDeadlineSeconds = new(int32(20)) })), Fix: set(func(s *rayv1.RayJobSpec) { s.PreRunningDeadlineSeconds = nil }), WantFields: at("spec.preRunningDeadlineSeconds"), Warning: true},
		{ID: "RJ-532", Name: "suspended", Mutate: set(func(s *rayv1.RayJobSpec) { s.PreRunningDeadlineSeconds, s.Suspend = new(int32(20)), true }), Fix: set(func(s *rayv1.RayJobSpec) { s.Suspend = false }), WantFields: at("spec.preRunningDeadlineSeconds"), Warning: true},
		{ID: "RJ-010", Name: "unknown controller", Mutate: set(func(s *rayv1.RayJobSpec) { s.ManagedBy = new("me") }), Fix: set(func(s *rayv1.RayJobSpec) { s.ManagedBy = new(rayv1.ManagedByMultiKueue) }), WantFields: at("spec.managedBy")},
		{ID: "RJ-060", Name: "waiting", Mutate: inState(rayv1.JobDeploymentStatusWaiting), Fix: mode(rayv1.InteractiveMode), WantFields: at("status.jobDeploymentStatus")},
	}
}

func payload() []row[job] {
	env := func(text string) func(*job) { return func(rj *job) { rj.Spec.RuntimeEnvYAML = text } }
	resources := func(text string) func(*job) { return func(rj *job) { rj.Spec.EntrypointResources = text } }
	meta := func(version string) func(*job) {
		return func(rj *job) {
			rj.Spec.Metadata, rj.Spec.RayClusterSpec.RayVersion = map[string]string{"team": "a"}, version
			jobHead(rj).Image = "example.com/app:1"
			rj.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Image = "example.com/app:1"
		}
	}
	id := func(text string) func(*job) { return func(rj *job) { rj.Spec.JobId = text } }
	yaml, jobID, res := at("spec.runtimeEnvYAML"), at("spec.jobId"), at("spec.entrypointResources")
	return []row[job]{
		{ID: "RJ-056", Name: "text", Mutate: env("invalid_yaml_str"), Fix: env("pip: [a]"), WantFields: yaml},
		{ID: "RJ-056", Name: "broken", Mutate: env("pip: ["), Fix: env(""), WantFields: yaml},
		{ID: "RJ-513", Name: "negative", Mutate: func(rj *job) { rj.Spec.EntrypointNumCpus = -0.5 }, Fix: func(rj *job) { rj.Spec.EntrypointNumCpus = 0.5 }, WantFields: at("spec.entrypointNumCpus"), Warning: true},
		{ID: "RJ-513", Name: "negative GPUs", Mutate: func(rj *job) { rj.Spec.EntrypointNumGpus = -1 }, Fix: func(rj *job) { rj.Spec.EntrypointNumGpus = 1 }, WantFields: at("spec.entrypointNumGpus"), Warning: true},
		{ID: "RJ-514", Name: "no JSON", Mutate: all(mode(rayv1.HTTPMode), resources("{a:1}")), Fix: resources(`{"a":1}`), WantFields: res},
		{ID: "RJ-514", Name: "no JSON, by a submitter", Mutate: resources(`{"a":-1}`), Fix: resources(`{"a":0}`), WantFields: res, Warning: true},
		{ID: "RJ-515", Name: "misspelt", Mutate: env("pips: [a]"), Fix: env("pip: [a]"), WantFields: yaml, Warning: true},
		{ID: "RJ-515", Name: "pip and conda", Mutate: env("pip: [a]\nconda: b"), Fix: env("conda: b"), WantFields: yaml, Warning: true},
		{ID: "RJ-515", Name: "twice", Mutate: env("working_dir: a\nworking_dir: b"), Fix: env("working_dir: b"), WantFields: yaml, Warning: true},
		{ID: "RJ-537", Name: "folder", Mutate: all(mode(rayv1.HTTPMode), env("working_dir: ./app")), Fix: mode(rayv1.K8sJobMode), WantFields: yaml, Warning: true},
		{ID: "RJ-537", Name: "module", Mutate: all(mode(rayv1.HTTPMode), env("py_modules: [lib.whl]")), Fix: env("py_modules: ['s3://bucket/lib.whl']"), WantFields: yaml, Warning: true},
		{ID: "RJ-516", Name: "old Ray", Mutate: meta("2.5.0"), Fix: meta("2.6.0"), WantFields: at("spec.metadata")},
		{ID: "RJ-516", Name: "unreadable", Mutate: meta("nightly"), Fix: all(meta("nightly"), mode(rayv1.HTTPMode)), WantFields: at("spec.metadata")},
		{ID: "RJ-517", Name: "blank", Mutate: id("my job"), Fix: id("my-job"), WantFields: jobID, Warning: true},
		{ID: "RJ-517", Name: "256 characters", Mutate: id(strings.Repeat("a", 256)), Fix: id(strings.Repeat("a", 255)), WantFields: jobID, Warning: true},
		{ID: "RJ-517", Name: "selected cluster", Mutate: all(selects, id("a")), Fix: id(""), WantFields: jobID, Warning: true},
		{ID: "RJ-519", Name: "bell", Mutate: func(rj *job) { rj.Spec.Metadata = map[string]string{"a": "\a"} }, Fix: func(rj *job) { rj.Spec.Metadata["a"] = "b" }, WantFields: at("spec.metadata"), Warning: true},
		{ID: "RJ-519", Name: "long", Mutate: func(rj *job) { rj.Spec.Metadata = map[string]string{"a": strings.Repeat("b", 128<<10)} }, Fix: func(rj *job) { rj.Spec.Metadata["a"] = "b" }, WantFields: at("spec.metadata"), Warning: true},
	}
}

func jobUpdates() []row[job] {
	managed := func(by string) func(*job) { return func(rj *job) { rj.Spec.ManagedBy = &by } }
	running, complete := inState(rayv1.JobDeploymentStatusRunning), inState(rayv1.JobDeploymentStatusComplete)
	image := func(rj *job) { rj.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Image += "-gpu" }
	id := func(rj *job) { rj.Spec.JobId = "mine" }
	return []row[job]{
		{ID: "RJ-009", Name: "changed", Update: true, Before: managed(rayv1.ManagedByKubeRayOperator), Mutate: managed(rayv1.ManagedByMultiKueue), WantFields: at("spec.managedBy")},
		{ID: "RC-021", Name: "changed in the cluster", Update: true, Before: func(rj *job) { rj.Spec.RayClusterSpec.ManagedBy = new(rayv1.ManagedByKubeRayOperator) }, Mutate: func(rj *job) { rj.Spec.RayClusterSpec.ManagedBy = new(rayv1.ManagedByMultiKueue) }, WantFields: at("spec.rayClusterSpec.managedBy")},
		{ID: "RJ-518", Name: "running", Update: true, Before: running, Mutate: id, WantFields: at("spec.jobId"), Warning: true},
		{ID: "RJ-518", Name: "early", Update: true, Before: all(mode(rayv1.InteractiveMode), inState(rayv1.JobDeploymentStatusInitializing)), Mutate: id, WantFields: at("spec.jobId"), Warning: true},
		{ID: "RJ-520", Name: "complete", Update: true, Before: complete, Mutate: func(rj *job) { rj.Spec.Suspend = true }, WantFields: at("spec.suspend"), Warning: true},
		{ID: "RJ-524", Name: "running", Update: true, Before: running, Mutate: mode(rayv1.HTTPMode), WantFields: at("spec.submissionMode"), Warning: true},
		{ID: "RJ-525", Name: "image", Update: true, Before: running, Mutate: image, Fix: func(rj *job) {
			rj.Spec.RayClusterSpec = BaseJob().Spec.RayClusterSpec
			rj.Spec.RayClusterSpec.WorkerGroupSpecs[0].Suspend = new(true)
		}, WantFields: at("spec.rayClusterSpec"), Warning: true},
		{ID: "RJ-526", Name: "entrypoint", Update: true, Before: running, Mutate: func(rj *job) { rj.Spec.Entrypoint = "python other.py" }, WantFields: at("spec.entrypoint"), Warning: true},
		{ID: "RJ-527", Name: "entrypoint", Update: true, Before: complete, Mutate: func(rj *job) { rj.Spec.Entrypoint = "python other.py" }, Fix: func(rj *job) {
			rj.Spec.Entrypoint, rj.Spec.TTLSecondsAfterFinished = "python main.py", 10
		}, WantFields: at("spec.entrypoint"), Warning: true},
		{ID: "X-501", Name: "old client", Update: true, Before: func(rj *job) { rj.Spec.ActiveDeadlineSeconds = new(int32(60)) }, Mutate: func(rj *job) { rj.Spec.ActiveDeadlineSeconds = nil }, WantFields: at("apiVersion"), Warning: true, Options: validation.Options{RequestVersion: "v1alpha1"}},
	}
}
