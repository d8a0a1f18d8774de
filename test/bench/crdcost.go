package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// costObjects is how many objects of each kind a round of the scenario crdcost writes.
	costObjects = 120
	// statusWrites is how often the status of each object is written.
	statusWrites = 5
	// profiledFor is how long the API server is profiled.
	profiledFor = 10 * time.Second
)

// costKind is a kind whose writes are measured.
type costKind struct {
	name string
	make func(namespace string, i int) client.Object
	// touch changes the status for the write n, and edit the spec.
	touch func(o client.Object, n int)
	edit  func(o client.Object)
}

func costKinds() []costKind {
	at := func(n int) *metav1.Time { return &metav1.Time{Time: time.Now().Add(time.Duration(n) * time.Second)} }
	states := []rayv1.JobDeploymentStatus{
		rayv1.JobDeploymentStatusInitializing, rayv1.JobDeploymentStatusRunning, rayv1.JobDeploymentStatusRetrying,
		rayv1.JobDeploymentStatusInitializing, rayv1.JobDeploymentStatusComplete,
	}
	return []costKind{
		{
			name: "RayCluster",
			make: func(namespace string, i int) client.Object {
				return cluster(namespace, clusterName(0, i), smallWorkers)
			},
			touch: func(o client.Object, n int) {
				rc := o.(*rayv1.RayCluster)
				rc.Status = readyStatus(rc, at(n).Time)
			},
			edit: func(o client.Object) { o.(*rayv1.RayCluster).Spec.Suspend = new(true) },
		},
		{
			name:  "RayJob",
			make:  func(namespace string, i int) client.Object { return benchJob(namespace, 4*i, false) },
			touch: func(o client.Object, n int) { o.(*rayv1.RayJob).Status.JobDeploymentStatus = states[n] },
			edit:  func(o client.Object) { o.(*rayv1.RayJob).Spec.Suspend = true },
		},
		{
			name: "RayService",
			make: func(namespace string, i int) client.Object {
				return benchService(namespace, fmt.Sprintf("service-%d", i), 1)
			},
			touch: func(o client.Object, n int) { o.(*rayv1.RayService).Status.LastUpdateTime = at(n) },
			edit: func(o client.Object) {
				o.(*rayv1.RayService).Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image += "-gpu"
			},
		},
		{
			name: "RayCronJob",
			make: func(namespace string, i int) client.Object {
				c := &rayv1.RayCronJob{Spec: rayv1.RayCronJobSpec{Schedule: "0 0 * * *", JobTemplate: benchJob(namespace, 4*i, false).Spec}}
				c.Namespace, c.Name = namespace, fmt.Sprintf("cron-%d", i)
				return c
			},
			touch: func(o client.Object, n int) { o.(*rayv1.RayCronJob).Status.LastScheduleTime = at(n) },
			edit:  func(o client.Object) { o.(*rayv1.RayCronJob).Spec.Suspend = new(true) },
		},
	}
}

// bareGroup is the API group of the CRDs without rules.
const bareGroup = "bare.ray.io"

// crdcost measures what the rules in the CRDs and the policies cost the API server in each write. The same CRDs in a group of their own have no rules
// and no policies. No operator runs.
func crdcost(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	if err := s.installBareCRDs(ctx); err != nil {
		return err
	}
	for _, k := range costKinds() {
		var with, without []float64
		for round := range s.opts.Rounds {
			rules, bare, err := s.costOf(ctx, namespace, k)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			s.logf("round %d of %d: %s: %.1f ms of CPU, without rules %.1f ms", round+1, s.opts.Rounds, k.name, rules, bare)
			with, without = append(with, rules), append(without, bare)
		}
		what := fmt.Sprintf("%s: CPU of the API server for create, %d status writes, update, delete; direct has no rules in the CRDs and no policies", k.name, statusWrites)
		s.add(what, "ms", with, without, ratioAtMost(1.1))
	}
	return nil
}

// installBareCRDs creates CRDs without rules, and waits until the API server serves them and has come to rest.
func (s *session) installBareCRDs(ctx context.Context) error {
	crds, err := s.readCRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		crd.Spec.Group = bareGroup
		crd.Name = crd.Spec.Names.Plural + "." + bareGroup
		for i := range crd.Spec.Versions {
			dropRules(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
		if err := s.client.Create(ctx, crd); err != nil {
			return fmt.Errorf("installing %s: %w", crd.Name, err)
		}
	}
	if err := s.awaitServed(ctx, crds); err != nil {
		return err
	}
	return s.rest(ctx)
}

// dropRules removes all CEL rules of a schema.
func dropRules(schema *apiextensionsv1.JSONSchemaProps) {
	schema.XValidations = nil
	for name, property := range schema.Properties {
		dropRules(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		dropRules(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		dropRules(schema.AdditionalProperties.Schema)
	}
}

// rest returns when the API server has come to rest.
func (s *session) rest(ctx context.Context) error {
	return s.eventually(ctx, "the API server to come to rest", time.Minute, func(ctx context.Context) error {
		before, err := s.apiServerCPU()
		if err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
		if after, err := s.apiServerCPU(); err != nil || after-before > 0.4 {
			return errors.Join(err, fmt.Errorf("it used %.1f s of CPU in two seconds", after-before))
		}
		return nil
	})
}

// installPolicies creates the policies on updates, in the folder beside that of the CRDs, if there are any. It returns when the API server has
// compiled them.
func (s *session) installPolicies(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(s.opts.CRDs, "..", "updates", "*.yaml"))
	if err != nil || len(files) == 0 {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading policies: %w", err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
		for {
			var object unstructured.Unstructured
			if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("decoding %s: %w", file, err)
			}
			if object.Object == nil { // the comment at the top
				continue
			}
			if err := s.client.Create(ctx, &object); err != nil {
				return fmt.Errorf("installing %s: %w", file, err)
			}
		}
	}
	service := benchService(metav1.NamespaceDefault, "probe", 1) // the policy of services is the last
	if err := s.client.Create(ctx, service); err != nil {
		return fmt.Errorf("creating probe: %w", err)
	}
	err = s.eventually(ctx, "the policies", time.Minute, func(ctx context.Context) error {
		wrong := service.DeepCopy()
		wrong.Spec.RayClusterSpec.WorkerGroupSpecs[0].MinReplicas = new(int32(-1))
		if err := s.client.Update(ctx, wrong, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("a wrong update: %w", err)
		}
		return nil
	})
	return errors.Join(err, s.client.Delete(ctx, service))
}

// apiServerCPU is the processor time of the API server so far, in seconds.
func (s *session) apiServerCPU() (float64, error) {
	cpu, err := s.processes[0].cpuOfFamily()
	return cpu["kube-apiserver"], err
}

// costOf returns the CPU of the API server for one object of a kind with rules, and for one without, in milliseconds. It writes one of each in turns:
// the speed of a machine changes within seconds, and a cycle of the garbage collector takes as long as ten objects. Turns spread both over the two groups.
func (s *session) costOf(ctx context.Context, namespace string, k costKind) (rules, bare float64, err error) {
	groups, cpu, turn := []string{rayv1.GroupVersion.Group, bareGroup}, []float64{0, 0}, 1
	if s.opts.Profiles != "" {
		turn = costObjects // so that a profile is of one of them
	}
	for _, group := range groups {
		if err := s.writeAll(ctx, k.make(namespace, costObjects), k, group); err != nil { // the first compiles
			return 0, 0, err
		}
	}
	for first := 0; first < costObjects; first += turn {
		for i := range groups {
			i = (i + first/turn) % len(groups)
			spent, err := s.apiServerCPUOf(ctx, k.name+"-"+groups[i], func() error {
				for n := range turn {
					if err := s.writeAll(ctx, k.make(namespace, first+n), k, groups[i]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return 0, 0, err
			}
			cpu[i] += spent
		}
	}
	return cpu[0] * 1000 / costObjects, cpu[1] * 1000 / costObjects, nil
}

// apiServerCPUOf returns the processor time of the API server while work runs, in seconds. A profile has the name.
func (s *session) apiServerCPUOf(ctx context.Context, name string, work func() error) (float64, error) {
	before, err := s.apiServerCPU()
	if err != nil {
		return 0, err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- s.profile(ctx, name) }()
	if err := work(); err != nil {
		return 0, err
	}
	after, err := s.apiServerCPU()
	return after - before, errors.Join(err, <-profiled)
}

// writeAll makes all writes of one object in an API group.
func (s *session) writeAll(ctx context.Context, o client.Object, k costKind, group string) error {
	write := func(what string, write func(u client.Object) error) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: rayv1.GroupVersion.Version, Kind: k.name})
		if err := write(u); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	}
	if err := write("creating", func(u client.Object) error { return s.client.Create(ctx, u) }); err != nil {
		return err
	}
	for n := range statusWrites {
		k.touch(o, n)
		if err := write("writing the status", func(u client.Object) error { return s.client.Status().Update(ctx, u) }); err != nil {
			return err
		}
	}
	k.edit(o)
	if err := write("updating", func(u client.Object) error { return s.client.Update(ctx, u) }); err != nil {
		return err
	}
	return write("deleting", func(u client.Object) error { return s.client.Delete(ctx, u) })
}

// profile writes a profile of the API server into the folder --profiles, if that is given.
func (s *session) profile(ctx context.Context, name string) error {
	if s.opts.Profiles == "" {
		return nil
	}
	c, err := rest.HTTPClientFor(s.config)
	if err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", s.config.Host, profiledFor.Seconds())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	path := filepath.Join(s.opts.Profiles, name+".pprof")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("writing profile: %w", err)
	}
	return nil
}
