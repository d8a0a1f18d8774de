package podrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/raygate/raygate/localcluster/internal/podnet"
)

// proxyVariable is read by the substitute for ray.
const proxyVariable = "RAYGATE_SIM_PROXY"

// context returns a context that ends with the Pod.
func (e *pod) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-e.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

var errGone = errors.New("the Pod is gone")

// whole reads the Pod with all its fields; the watch of the node keeps only a few.
func (r *Runtime) whole(ctx context.Context, e *pod) (*corev1.Pod, error) {
	p, err := r.opts.Client.CoreV1().Pods(e.key.Namespace).Get(ctx, e.key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if p.UID != e.uid {
		return nil, errGone
	}
	return p, nil
}

// prepare reads the container and its environment, and retries until no reference is missing.
func (c *container) prepare(ctx context.Context) ([]string, bool) {
	for {
		env, err := c.read(ctx)
		switch {
		case err == nil:
			return env, true
		case ctx.Err() != nil, errors.Is(err, errGone), apierrors.IsNotFound(err) && c.podGone(ctx):
			return nil, false
		}
		c.set(func(s *corev1.ContainerStatus) {
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonConfigError, Message: err.Error()}}
		})
		if !c.sleep(configRetry) {
			return nil, false
		}
	}
}

func (c *container) podGone(ctx context.Context) bool {
	_, err := c.r.whole(ctx, c.pod)
	return errors.Is(err, errGone) || apierrors.IsNotFound(err)
}

func (c *container) read(ctx context.Context) ([]string, error) {
	p, err := c.r.whole(ctx, c.pod)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Spec.Containers, func(s corev1.Container) bool { return s.Name == c.name })
	if i < 0 {
		return nil, errGone
	}
	c.spec = withPolicy(p.Spec.Containers[i], p)
	own, err := c.r.declared(ctx, p, c.spec, true)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(c.dir(), "work")
	env := c.r.base(c.pod, work)
	env = append(env, "HOME="+work, "HOSTNAME="+c.pod.key.Name)
	// The substitutes come first, because the container has no other ray.
	env = append(env, "PATH="+c.r.opts.Programs+string(os.PathListSeparator)+lookup(c.r.opts.Environ, "PATH"))
	return append(env, own...), nil
}

// base returns the environment of every process: variables about the user and the machine, and the proxy of the cluster.
func (r *Runtime) base(e *pod, work string) []string {
	var env []string
	for _, v := range r.opts.Environ {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ"}, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, v)
		}
	}
	url := r.opts.Proxy.URL(string(e.uid), podnet.Client{Namespace: e.key.Namespace, IP: e.ip})
	return append(env, "TMPDIR="+filepath.Join(work, "tmp"), proxyVariable+"="+url,
		// For all other programs: Services by name, and loopback as this machine.
		"http_proxy="+url, "no_proxy=localhost,127.0.0.1,::1")
}

// declared returns the variables in the container's spec, as a kubelet resolves them. Unless strict is set, unresolvable ones are
// left out.
func (r *Runtime) declared(ctx context.Context, p *corev1.Pod, c corev1.Container, strict bool) ([]string, error) {
	values := map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, ok := values[name]; !ok {
			order = append(order, name)
		}
		values[name] = value
	}
	for _, from := range c.EnvFrom {
		data, err := r.source(ctx, p.Namespace, from)
		if err != nil && strict {
			return nil, err
		}
		for name, value := range data {
			set(from.Prefix+name, value)
		}
	}
	for _, v := range c.Env {
		value, ok, err := r.value(ctx, p, v, values)
		if err != nil && strict {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if ok && err == nil {
			set(v.Name, value)
		}
	}
	out := make([]string, 0, len(order))
	for _, name := range order {
		out = append(out, name+"="+values[name])
	}
	return out, nil
}

func (r *Runtime) source(ctx context.Context, namespace string, from corev1.EnvFromSource) (map[string]string, error) {
	out := map[string]string{}
	switch {
	case from.SecretRef != nil:
		s, err := r.opts.Client.CoreV1().Secrets(namespace).Get(ctx, from.SecretRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, optional(err, from.SecretRef.Optional)
		}
		for k, v := range s.Data {
			out[k] = string(v)
		}
	case from.ConfigMapRef != nil:
		m, err := r.opts.Client.CoreV1().ConfigMaps(namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, optional(err, from.ConfigMapRef.Optional)
		}
		return m.Data, nil
	}
	return out, nil
}

// value returns false for a missing optional reference.
func (r *Runtime) value(ctx context.Context, p *corev1.Pod, v corev1.EnvVar, so map[string]string) (string, bool, error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return expansion.Expand(v.Value, expansion.MappingFuncFor(so)), true, nil
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		s, err := r.opts.Client.CoreV1().Secrets(p.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, optional(err, ref.Optional)
		}
		data, ok := s.Data[ref.Key]
		return string(data), ok, missingKey(ok, "Secret", ref.Name, ref.Key, ref.Optional)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		m, err := r.opts.Client.CoreV1().ConfigMaps(p.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, optional(err, ref.Optional)
		}
		data, ok := m.Data[ref.Key]
		return data, ok, missingKey(ok, "ConfigMap", ref.Name, ref.Key, ref.Optional)
	case from.FieldRef != nil:
		value, err := r.field(p, from.FieldRef.FieldPath)
		return value, true, err
	}
	return "", false, nil // resource fields: processes here have no limits
}

func (r *Runtime) field(p *corev1.Pod, path string) (string, error) {
	switch path {
	case "spec.nodeName":
		return p.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return p.Status.HostIP, nil
	case "status.podIP", "status.podIPs":
		r.mu.Lock()
		defer r.mu.Unlock()
		if e := r.pods[p.UID]; e != nil {
			return e.ip, nil
		}
		return p.Status.PodIP, nil
	}
	return fieldpath.ExtractFieldPathAsString(p, path)
}

// optional ignores a NotFound error of an optional reference.
func optional(err error, may *bool) error {
	if apierrors.IsNotFound(err) && may != nil && *may {
		return nil
	}
	return err
}

func missingKey(ok bool, kind, name, key string, may *bool) error {
	if ok || may != nil && *may {
		return nil
	}
	return fmt.Errorf("%s %s has no key %s", kind, name, key)
}

// expand replaces $(NAME) in the words of a command.
func expand(words, env []string) []string {
	values := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = expansion.Expand(w, expansion.MappingFuncFor(values))
	}
	return out
}

// lookup returns the last value of a variable, or "" if there is none.
func lookup(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// program resolves a program as the container would: by path, else by its base name on the PATH. Images may have a program, such
// as a shell, at a path that this machine lacks.
func program(name, path string) string {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	base := filepath.Base(name)
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, base)); err == nil {
			return found
		}
	}
	return name
}

// requestTimeout limits API requests that a client waits for.
const requestTimeout = 10 * time.Second
