package examples

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

func mount(c *corev1.Container, name, path string) {
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func sidecar(name string) corev1.Container { return corev1.Container{Name: name, Image: "sidecar:1"} }

func pods() []row[cluster] {
	addHead := func(name string) func(*cluster) {
		return func(rc *cluster) { headPod(rc).Containers = append(headPod(rc).Containers, sidecar(name)) }
	}
	workerInit := func(name string) func(*cluster) {
		return func(rc *cluster) { workerPod(rc).InitContainers = append(workerPod(rc).InitContainers, sidecar(name)) }
	}
	history := func(rc *cluster) { rc.Spec.HistoryServerOptions = collector("LocalTest") }
	return []row[cluster]{
		{ID: "RC-016", Name: "no name", Mutate: addHead(""), WantFields: at("spec.headGroupSpec.template.spec.containers[1].name")},
		{ID: "RC-017", Name: "container twice", Mutate: addHead("ray-head"), WantFields: at("spec.headGroupSpec.template.spec.containers[1].name")},
		{ID: "RC-017", Name: "variable twice", Mutate: both(headEnv("A", ""), headEnv("A", "")), WantFields: at(headContainer + ".env[1].name")},
		{ID: "RC-017", Name: "volume twice", Mutate: func(rc *cluster) { headPod(rc).Volumes = []corev1.Volume{emptyDir("v"), emptyDir("v")} }, WantFields: at("spec.headGroupSpec.template.spec.volumes[1].name")},
		{ID: "RC-017", Name: "pull secret twice", Mutate: func(rc *cluster) {
			workerPod(rc).ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}, {Name: "s"}}
		}, Fix: func(rc *cluster) { workerPod(rc).ImagePullSecrets[1].Name = "t" }, WantFields: at(group0 + ".template.spec.imagePullSecrets[1].name")},
		{ID: "RC-017", Name: "constraint twice", Mutate: func(rc *cluster) {
			c := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}
			workerPod(rc).TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c, c}
		}, Fix: func(rc *cluster) {
			workerPod(rc).TopologySpreadConstraints[1].WhenUnsatisfiable = corev1.ScheduleAnyway
		}, WantFields: at(group0 + ".template.spec.topologySpreadConstraints[1]")},
		{ID: "RC-590", Name: "unused claim", Mutate: func(rc *cluster) {
			workerPod(rc).ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("one-gpu")}}
		}, WantFields: at(group0 + ".template.spec.resourceClaims[0].name"), Warning: true},
		{ID: "RC-591", Name: "unknown claim", Mutate: func(rc *cluster) {
			head(rc).Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
		}, WantFields: at(headContainer + ".resources.claims[0].name"), Warning: true},
		{ID: "RC-523", Name: "address", Mutate: headEnv("RAY_ADDRESS", "x"), WantFields: at(headContainer + ".env[0].name"), Warning: true},
		{ID: "RC-524", Name: "with autoscaling", Mutate: both(autoscaling, addHead("autoscaler")), WantFields: at("spec.headGroupSpec.template.spec.containers[1].name")},
		{ID: "RC-525", Name: "collector as init container", Mutate: both(history, workerInit("ray-history-collector")), WantFields: at(group0 + ".template.spec.initContainers[0].name"), Options: gate(validation.GateHistoryServer, true)},
		{ID: "RC-525", Name: "collector as init container of the head", Mutate: both(history, func(rc *cluster) {
			headPod(rc).InitContainers = []corev1.Container{sidecar("ray-history-collector")}
		}), WantFields: at("spec.headGroupSpec.template.spec.initContainers[0].name"), Options: gate(validation.GateHistoryServer, true)},
		{ID: "RC-526", Name: "init container", Mutate: workerInit("wait-gcs-ready"), WantFields: at(group0 + ".template.spec.initContainers[0].name"), Options: validation.Options{FromOperator: true}},
		{ID: "RC-526", Name: "operator not known", Mutate: workerInit("wait-gcs-ready"), WantFields: at(group0 + ".template.spec.initContainers[0].name"), Warning: true},
		{ID: "RC-527", Name: "another group", Mutate: func(rc *cluster) { group(rc).Template.Labels = map[string]string{"ray.io/group": "x"} }, WantFields: at(group0 + ".template.metadata.labels[ray.io/group]"), Warning: true},
		{ID: "RC-529", Name: "name", Mutate: func(rc *cluster) { group(rc).Template.Name = "x" }, WantFields: at(group0 + ".template.metadata.name"), Warning: true},
		{ID: "RC-530", Name: "blank in a key", Mutate: func(rc *cluster) { group(rc).Template.Labels = map[string]string{"a b": "c"} }, WantFields: at(group0 + ".template.metadata.labels[a b]")},
		{ID: "RC-532", Name: "empty", Mutate: func(rc *cluster) { head(rc).Image = "" }, WantFields: at(headContainer + ".image"), Warning: true},
		{ID: "RC-533", Name: "sidecar first", Mutate: func(rc *cluster) {
			workerPod(rc).Containers = append([]corev1.Container{sidecar("proxy")}, workerPod(rc).Containers...)
		}, WantFields: at(group0 + ".template.spec.containers"), Warning: true},
		{ID: "RC-530", Name: "blank in a value", Mutate: func(rc *cluster) { rc.Spec.HeadGroupSpec.Template.Labels = map[string]string{"a": "b c"} }, WantFields: at("spec.headGroupSpec.template.metadata.labels[a]")},
		{ID: "RC-540", Name: "capital", Mutate: addHead("Side"), WantFields: at("spec.headGroupSpec.template.spec.containers[1].name")},
		{ID: "RC-540", Name: "init container of the same name", Mutate: workerInit("ray-worker"), WantFields: at(group0 + ".template.spec.initContainers[0].name")},
		{ID: "RC-540", Name: "init container of the head of the same name", Mutate: func(rc *cluster) { headPod(rc).InitContainers = []corev1.Container{sidecar("ray-head")} }, WantFields: at("spec.headGroupSpec.template.spec.initContainers[0].name")},
		{ID: "RC-541", Name: "two of one name", Mutate: func(rc *cluster) {
			worker(rc).Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 80}, {Name: "web", ContainerPort: 81}}
		}, WantFields: at(workerContainer + ".ports[1].name")},
		{ID: "RC-541", Name: "underscore", Mutate: func(rc *cluster) {
			worker(rc).Ports = []corev1.ContainerPort{{Name: "dashboard_port", ContainerPort: 1}}
		}, WantFields: at(workerContainer + ".ports[0].name")},
		{ID: "RC-541", Name: "number on the head", Mutate: func(rc *cluster) {
			head(rc).Ports = []corev1.ContainerPort{{Name: "dashboard", ContainerPort: 8265}, {Name: "serve", ContainerPort: 70000}}
		}, WantFields: at("spec.headGroupSpec.template.spec.containers[0].ports[1].containerPort")},
		{ID: "RC-541", Name: "number", Mutate: func(rc *cluster) { worker(rc).Ports = []corev1.ContainerPort{{ContainerPort: 70000}} }, WantFields: at(workerContainer + ".ports[0].containerPort")},
		{ID: "RC-548", Name: "same port", Mutate: both(func(rc *cluster) {
			workerPod(rc).Containers = append(workerPod(rc).Containers, sidecar("side"))
			for i := range workerPod(rc).Containers {
				workerPod(rc).Containers[i].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
			}
		}), WantFields: at(group0 + ".template.spec.containers[1].ports[0].containerPort"), Warning: true},
		{ID: "RC-548", Name: "the port of the dashboard", Mutate: func(rc *cluster) {
			side := sidecar("web")
			side.Ports = []corev1.ContainerPort{{ContainerPort: 8265}}
			headPod(rc).Containers = append(headPod(rc).Containers, side)
		}, Fix: func(rc *cluster) { headPod(rc).Containers[1].Ports[0].ContainerPort = 8266 }, WantFields: at("spec.headGroupSpec.template.spec.containers[1].ports[0].containerPort"), Warning: true},
		{ID: "RC-549", Name: "no such volume", Mutate: func(rc *cluster) { mount(worker(rc), "data", "/data") }, WantFields: at(workerContainer + ".volumeMounts[0].name"), Warning: true},
		{ID: "RC-560", Name: "sometimes", Mutate: func(rc *cluster) { workerPod(rc).RestartPolicy = "Sometimes" }, WantFields: at(group0 + ".template.spec.restartPolicy")},
		{ID: "RC-565", Name: "request above limit", Mutate: func(rc *cluster) {
			worker(rc).Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		}, WantFields: at(workerContainer + ".resources.requests[cpu]")},
		{ID: "RC-565", Name: "negative", Mutate: func(rc *cluster) { worker(rc).Resources.Limits[corev1.ResourceCPU] = resource.MustParse("-1") }, WantFields: at(workerContainer + ".resources.limits[cpu]")},
		{ID: "RC-587", Name: "GPU request below the limit", Mutate: gpus("1", "2"), WantFields: at(workerContainer + ".resources.requests[nvidia.com/gpu]")},
		{ID: "RC-587", Name: "GPU request without a limit", Mutate: gpus("1", ""), WantFields: at(workerContainer + ".resources.requests[nvidia.com/gpu]"), Warning: true},
		{ID: "RC-574", Name: "many workers", Mutate: func(rc *cluster) { workerPod(rc).HostNetwork = true }, WantFields: at(group0 + ".template.spec.hostNetwork"), Warning: true},
		{ID: "RC-089", Name: "collector of one's own", Mutate: both(history, addHead("ray-history-collector")), WantFields: at("spec.headGroupSpec.template.spec.containers[1].name"), Options: gate(validation.GateHistoryServer, true)},
		{ID: "RC-090", Name: "collector of one's own", Mutate: both(history, func(rc *cluster) {
			workerPod(rc).Containers = append(workerPod(rc).Containers, sidecar("ray-history-collector"))
		}), WantFields: at(group0 + ".template.spec.containers[1].name"), Options: gate(validation.GateHistoryServer, true)},
	}
}

func services() []row[cluster] {
	service := func(f func(*corev1.Service)) func(*cluster) {
		return func(rc *cluster) {
			rc.Spec.HeadGroupSpec.HeadService = &corev1.Service{}
			f(rc.Spec.HeadGroupSpec.HeadService)
		}
	}
	ingress := func(o rayv1.IngressOptions) func(*cluster) {
		return func(rc *cluster) {
			rc.Spec.HeadGroupSpec.EnableIngress, rc.Spec.HeadGroupSpec.IngressOptions = new(true), o.DeepCopy()
		}
	}
	const svc, ing = "spec.headGroupSpec.headService", "spec.headGroupSpec.ingressOptions"
	return []row[cluster]{
		{ID: "RC-018", Name: "port twice", Mutate: service(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 80}}
		}), WantFields: at(svc + ".spec.ports[1]")},
		{ID: "RC-555", Name: "another number", Mutate: service(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Name: "dashboard", Port: 80}} }), WantFields: at(svc + ".spec.ports[0].port")},
		{ID: "RC-555", Name: "another name", Mutate: service(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Name: "web", Port: 8265}} }), WantFields: at(svc + ".spec.ports[0].name")},
		{ID: "RC-556", Name: "selector", Mutate: service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"ray.io/cluster": "x"} }), WantFields: at(svc + ".spec.selector[ray.io/cluster]"), Warning: true},
		{ID: "RC-557", Name: "unknown type", Mutate: func(rc *cluster) { rc.Spec.HeadGroupSpec.ServiceType = "Internal" }, WantFields: at("spec.headGroupSpec.serviceType")},
		{ID: "RC-589", Name: "type", Mutate: func(rc *cluster) { rc.Spec.HeadGroupSpec.ServiceType = corev1.ServiceTypeExternalName }, WantFields: at("spec.headGroupSpec.serviceType"), Warning: true},
		{ID: "RC-589", Name: "type of headService", Mutate: service(func(s *corev1.Service) {
			s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "ray.example.com"}
		}), WantFields: at(svc + ".spec.type"), Warning: true},
		{ID: "RC-558", Name: "dot", Mutate: service(func(s *corev1.Service) { s.ObjectMeta = metav1.ObjectMeta{Name: "Head.Svc"} }), WantFields: at(svc + ".metadata.name")},
		{ID: "RC-012", Name: "unknown", Mutate: ingress(rayv1.IngressOptions{PathType: new(rayv1.IngressPathType("Regex"))}), WantFields: at(ing + ".pathType")},
		{ID: "RC-561", Name: "not enabled", Mutate: func(rc *cluster) { rc.Spec.HeadGroupSpec.IngressOptions = &rayv1.IngressOptions{} }, WantFields: at(ing), Warning: true},
		{ID: "RC-562", Name: "no slash", Mutate: ingress(rayv1.IngressOptions{Path: new("ray")}), WantFields: at(ing + ".path"), Warning: true},
		{ID: "RC-562", Name: "address", Mutate: ingress(rayv1.IngressOptions{Host: new("10.0.0.1")}), WantFields: at(ing + ".host"), Warning: true},
	}
}

// gpus gives the worker a request of GPUs, and a limit unless that is empty.
func gpus(request, limit string) func(*cluster) {
	return func(rc *cluster) {
		r := &worker(rc).Resources
		r.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(request)}
		if limit != "" {
			r.Limits["nvidia.com/gpu"] = resource.MustParse(limit)
		}
	}
}
