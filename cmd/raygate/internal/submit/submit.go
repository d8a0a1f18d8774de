// Package submit converts a command line into what is submitted: the shell command of an entrypoint, a Submission for a running cluster, or
// a RayJob with its own cluster. It makes no calls and writes nothing.
package submit

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// plain needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Entrypoint joins words into a shell command. One word already is a shell command; several are quoted, so that the program gets them
// unchanged.
func Entrypoint(words []string) (string, error) {
	switch {
	case len(words) == 0 || strings.TrimSpace(words[0]) == "":
		return "", errors.New("say behind -- what to run, as in: raygate submit -- python train.py")
	case len(words) == 1:
		return words[0], nil
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if !plain.MatchString(word) {
			quoted[i] = quote(word)
		}
	}
	return strings.Join(quoted, " "), nil
}

// Options are the content of a submission, and how to submit it.
type Options struct {
	Entrypoint string
	// Shell means that the entrypoint is a shell command of the user, and not a program with arguments.
	Shell bool
	// Env are environment variables, Metadata is kept with the job.
	Env, Metadata map[string]string
	// WorkingDir is a URI that Ray fetches; RuntimeEnv is the rest of the runtime environment as YAML.
	WorkingDir string
	RuntimeEnv []byte
	// CPUs, GPUs and Resources are reserved for the entrypoint, Memory in bytes and for a running cluster only.
	CPUs, GPUs float32
	Memory     int64
	Resources  map[string]float64

	// The rest is for a RayJob.
	Name, RayVersion, Image string
	Head, Worker            Size
	Workers                 int32
	// GPUType is the type of the NVIDIA GPUs of all Pods, one of GPUTypes. Empty means any.
	GPUType string
	// TPUType and TPUTopology are labels of the nodes of GKE with the TPUs of workers. Empty means none.
	TPUType, TPUTopology string
	BackoffLimit         int32
	Deadline             int32
	// TTL is how long the cluster stays after the end, in seconds.
	TTL  int32
	Keep bool
	Mode string
	// Queue and PriorityClass are names of a LocalQueue and a WorkloadPriorityClass of Kueue. Empty means none.
	Queue, PriorityClass string
	// Profile is the name of a profile, which the gateway adds. Empty means none.
	Profile string
	Labels  map[string]string
}

// GenerateName is the beginning of the names of RayJobs without a name.
const GenerateName = "submit-"

// Size of a Pod.
type Size struct {
	CPU, Memory, GPU, TPU string
}

// runtimeEnv is the runtime environment; nil if there is none.
func (o *Options) runtimeEnv() (map[string]any, error) {
	env := map[string]any{}
	if err := yaml.Unmarshal(o.RuntimeEnv, &env); err != nil {
		return nil, fmt.Errorf("reading the runtime environment: %w", err)
	}
	if env == nil {
		env = map[string]any{}
	}
	if o.WorkingDir != "" {
		env["working_dir"] = o.WorkingDir
	}
	if len(o.Env) > 0 {
		vars, ok := env["env_vars"].(map[string]any)
		if !ok && env["env_vars"] != nil {
			return nil, errors.New("reading the runtime environment: env_vars is no object")
		}
		if vars == nil {
			vars = map[string]any{}
		}
		for name, value := range o.Env {
			vars[name] = value
		}
		env["env_vars"] = vars
	}
	if len(env) == 0 {
		return nil, nil
	}
	return env, nil
}

// Submission is the submission to a running cluster.
func (o *Options) Submission() (*raygatev2.Submission, error) {
	s := &raygatev2.Submission{
		SubmissionId: o.Name, Entrypoint: o.Entrypoint, Metadata: o.Metadata, EntrypointNumCpus: o.CPUs, EntrypointNumGpus: o.GPUs, EntrypointMemory: o.Memory,
		EntrypointResources: o.Resources,
	}
	env, err := o.runtimeEnv()
	if err != nil || env == nil {
		return s, err
	}
	if s.RuntimeEnv, err = structpb.NewStruct(env); err != nil {
		return nil, fmt.Errorf("reading the runtime environment: %w", err)
	}
	return s, nil
}

// oneCommand returns the entrypoint as a single command. The operator passes it to the shell of the submitter unchanged, where only the
// part before the first operator would be the job.
func oneCommand(entrypoint string) string {
	for word := range strings.FieldsSeq(entrypoint) {
		if !plain.MatchString(strings.Trim(word, `"'`)) {
			return "bash -c " + quote(entrypoint)
		}
	}
	return entrypoint
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// templates are those of the Pods.
func (o *Options) templates() (head, worker corev1.PodTemplateSpec, err error) {
	if head, err = template("ray-head", o.Image, o.Head); err != nil {
		return head, worker, fmt.Errorf("--head-%w", err)
	}
	if worker, err = template("ray-worker", o.Image, o.Worker); err != nil {
		return head, worker, fmt.Errorf("--worker-%w", err)
	}
	return head, worker, o.addGPUType(&head, &worker)
}

// RayJob is a job with its own cluster.
func (o *Options) RayJob() (*rayv1.RayJob, error) {
	env, err := o.runtimeEnv()
	if err != nil {
		return nil, err
	}
	head, worker, err := o.templates()
	if err != nil {
		return nil, err
	}
	labels, err := o.labels()
	if err != nil {
		return nil, err
	}
	groups, err := o.groups(worker)
	if err != nil {
		return nil, err
	}
	entrypoint := o.Entrypoint
	if o.Shell {
		entrypoint = oneCommand(entrypoint)
	}
	job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: rayv1.RayJobSpec{
		Entrypoint: entrypoint, Metadata: maps.Clone(o.Metadata), EntrypointNumCpus: o.CPUs, EntrypointNumGpus: o.GPUs, SubmissionMode: rayv1.JobSubmissionMode(o.Mode),
		ShutdownAfterJobFinishes: !o.Keep,
		RayClusterSpec:           &rayv1.RayClusterSpec{RayVersion: o.RayVersion, HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: head}, WorkerGroupSpecs: groups},
	}}
	if job.GenerateName = GenerateName; o.Name != "" {
		job.Name, job.GenerateName = o.Name, ""
	}
	if !o.Keep {
		job.Spec.TTLSecondsAfterFinished = o.TTL
	}
	if o.BackoffLimit > 0 {
		job.Spec.BackoffLimit = new(o.BackoffLimit)
	}
	if o.Deadline > 0 {
		job.Spec.ActiveDeadlineSeconds = new(o.Deadline)
	}
	if env != nil {
		text, err := yaml.Marshal(env)
		if err != nil {
			return nil, fmt.Errorf("writing the runtime environment: %w", err)
		}
		job.Spec.RuntimeEnvYAML = string(text)
	}
	job.Spec.EntrypointResources = resourcesJSON(o.Resources)
	return job, nil
}

// groups are the worker groups of the cluster: one or none.
func (o *Options) groups(worker corev1.PodTemplateSpec) (groups []rayv1.WorkerGroupSpec, err error) {
	if o.Workers > 0 {
		groups = []rayv1.WorkerGroupSpec{{
			GroupName: "workers", Replicas: new(o.Workers), MinReplicas: new(o.Workers), MaxReplicas: new(o.Workers), RayStartParams: map[string]string{}, Template: worker,
		}}
	}
	return groups, o.addTPU(groups)
}

// resourcesJSON is how a RayJob has custom resources.
func resourcesJSON(all map[string]float64) string {
	if len(all) == 0 {
		return ""
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return ""
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return ""
	}
	return string(data)
}

// template is a Pod template with one container. Requests equal limits, so that Ray's resources are those of the Pod.
func template(name, image string, size Size) (corev1.PodTemplateSpec, error) {
	list := corev1.ResourceList{}
	for _, want := range []struct {
		flag, value string
		name        corev1.ResourceName
	}{{"cpu", size.CPU, corev1.ResourceCPU}, {"memory", size.Memory, corev1.ResourceMemory}, {"gpu", size.GPU, nvidiaGPU}, {"tpu", size.TPU, "google.com/tpu"}} {
		if want.value == "" || want.value == "0" {
			continue
		}
		quantity, err := resource.ParseQuantity(want.value)
		if err != nil {
			return corev1.PodTemplateSpec{}, fmt.Errorf("%s: %q is not a quantity such as 500m, 2 or 16Gi", want.flag, want.value)
		}
		list[want.name] = quantity
	}
	if image == "" && len(list) == 0 { // the profile has the container
		return corev1.PodTemplateSpec{}, nil
	}
	container := corev1.Container{Name: name, Image: image, Resources: corev1.ResourceRequirements{Requests: list, Limits: maps.Clone(list)}}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}, nil
}

// ParseResources reads NAME=AMOUNT.
func ParseResources(pairs map[string]string) (map[string]float64, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	all := make(map[string]float64, len(pairs))
	for name, text := range pairs {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || !(amount >= 0) || amount > 1e15 {
			return nil, fmt.Errorf("%s=%s: the amount of a resource is a number", name, text)
		}
		all[name] = amount
	}
	return all, nil
}
