package migrate

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// checkFile reads the configuration file of the operator where it is in a ConfigMap, as KubeRay's chart has it.
func (c *Checker) checkFile(ctx context.Context, s *settings, d *appsv1.Deployment, container *corev1.Container, file string) error {
	name, key := configMapOf(d, container, file)
	if name == "" {
		s.add(Finding{Severity: Note, Field: "--config", Message: file + " is in no ConfigMap, and was not looked at", Remedy: "compare it with docs/operator.md"})
		return nil
	}
	config := &corev1.ConfigMap{}
	found, err := c.get(ctx, configMapResource, d.Namespace, name, config)
	if err != nil {
		return err
	}
	text, has := config.Data[key]
	if !found || !has {
		s.add(Finding{Severity: Error, Field: "--config", Message: fmt.Sprintf("ConfigMap %s has no %s", name, key), Remedy: "the operator does not start without it"})
		return nil
	}
	s.file(text)
	return nil
}

// configMapOf finds the ConfigMap and the key that are mounted at a path; empty for none.
func configMapOf(d *appsv1.Deployment, container *corev1.Container, file string) (name, key string) {
	for _, mount := range container.VolumeMounts {
		rest, below := strings.CutPrefix(file, strings.TrimSuffix(mount.MountPath, "/")+"/")
		switch {
		case file == mount.MountPath && mount.SubPath != "":
			rest = mount.SubPath
		case !below:
			continue
		default:
			rest = path.Join(mount.SubPath, rest)
		}
		i := slices.IndexFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name && v.ConfigMap != nil })
		if i < 0 {
			continue
		}
		source := d.Spec.Template.Spec.Volumes[i].ConfigMap
		for _, item := range source.Items {
			if item.Path == rest {
				return source.Name, item.Key
			}
		}
		return source.Name, rest
	}
	return "", ""
}

// file adds the settings of a configuration file.
func (s *settings) file(text string) {
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		s.add(Finding{Severity: Error, Field: "--config", Message: "is not YAML: " + err.Error()})
		return
	}
	known := fields()
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		flag, ok := known[name]
		entry := Setting{From: "file", Name: name, Value: scalar(tree[name]), Here: name}
		switch {
		case !ok:
			entry.Here = ""
			s.add(Finding{Severity: Error, Field: name, Message: "is no field of the configuration file; KubeRay ignores it, and raygate does not start with it", Remedy: "leave it out"})
		case name == "logFileEncoder" || name == "logStdoutEncoder" || name == "deleteRayJobAfterJobFinishes":
			entry.Note = "KubeRay ignores it in the file, raygate does as it says"
			s.add(Finding{Severity: Warning, Field: name, Message: fmt.Sprintf("is %s in the file, which KubeRay ignores and raygate does", entry.Value), Remedy: "leave it out to keep things as they are"})
		}
		s.operator.Settings = append(s.operator.Settings, entry)
		if flag != "" {
			s.take(flag, entry.Value, name)
		}
	}
	for _, f := range []struct{ name, want string }{{"apiVersion", "config.ray.io/v1alpha1"}, {"kind", "Configuration"}} {
		if tree[f.name] != f.want {
			s.add(Finding{Severity: Error, Field: f.name, Message: fmt.Sprintf("is %v in the file, but must be %s", tree[f.name], f.want)})
		}
	}
}

// scalar shows simple values. For other values, which may be long and contain secrets, it returns their type.
func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any:
		return fmt.Sprintf("(%d entries)", len(v))
	case []any:
		return fmt.Sprintf("(%d items)", len(v))
	default:
		return fmt.Sprint(v)
	}
}
