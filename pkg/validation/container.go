package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateContainer(c *corev1.Container, volumes map[string]bool, path *field.Path) field.ErrorList {
	errs := validateContainerLists(c, path)
	errs = append(errs, validatePorts(c.Ports, path.Child("ports"))...)
	errs = append(errs, validateMountedVolumes(c.VolumeMounts, volumes, path.Child("volumeMounts"))...)
	errs = append(errs, validateResourceRequirements(&c.Resources, path.Child("resources"))...)
	return errs
}

func validatePorts(ports []corev1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := make(map[string]bool, len(ports))
	for i := range ports {
		port, p := &ports[i], path.Index(i)
		if len(validation.IsValidPortNum(int(port.ContainerPort))) > 0 {
			errs = append(errs, invalid("RC-541", p.Child("containerPort"), port.ContainerPort, "must be from 1 to 65535"))
		}
		if port.Protocol != "" {
			errs = append(errs, notIn("RC-541", p.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
		}
		if port.Name == "" {
			continue
		}
		if msgs := validation.IsValidPortName(port.Name); len(msgs) > 0 {
			errs = append(errs, invalid("RC-541", p.Child("name"), port.Name, strings.Join(msgs, "; ")))
		}
		if names[port.Name] {
			errs = append(errs, duplicate("RC-541", p.Child("name"), port.Name, "give each port of a container a name of its own"))
		}
		names[port.Name] = true
	}
	return errs
}

func validateMountedVolumes(mounts []corev1.VolumeMount, volumes map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range mounts {
		if !volumes[mounts[i].Name] {
			errs = append(errs, invalid("RC-549", path.Index(i).Child("name"), mounts[i].Name, "must be the name of an entry of volumes of the Pod template"))
		}
	}
	return errs
}

func validateResourceRequirements(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return nil
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		if limit := r.Limits[name]; limit.Sign() < 0 {
			errs = append(errs, invalid("RC-565", path.Child("limits").Key(string(name)), limit.String(), "must be at least 0"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, p := r.Requests[name], path.Child("requests").Key(string(name))
		if request.Sign() < 0 {
			errs = append(errs, invalid("RC-565", p, request.String(), "must be at least 0"))
		}
		if limit, limited := r.Limits[name]; limited && request.Cmp(limit) > 0 {
			errs = append(errs, invalid("RC-565", p, request.String(), "must not exceed the limit, which is "+limit.String()))
		}
	}
	return errs
}
