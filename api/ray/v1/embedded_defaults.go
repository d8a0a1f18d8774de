package v1

import (
	corev1 "k8s.io/api/core/v1"
)

// Defaults that the embedded Kubernetes types bring into the schema. They are fewer than those that Kubernetes fills in
// a real Pod or Service: only those that its Go types declare by markers. References by name default to the empty name,
// which Go has anyway.

func setPodTemplateDefaults(t *corev1.PodTemplateSpec) {
	for i := range t.Spec.InitContainers {
		setContainerDefaults(&t.Spec.InitContainers[i])
	}
	for i := range t.Spec.Containers {
		setContainerDefaults(&t.Spec.Containers[i])
	}
	for i := range t.Spec.EphemeralContainers {
		// The two types have the same fields, each declared in both.
		c := corev1.Container(t.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		setContainerDefaults(&c)
		t.Spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
	for i := range t.Spec.Volumes {
		setVolumeDefaults(&t.Spec.Volumes[i])
	}
}

func setContainerDefaults(c *corev1.Container) {
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	setEnvDefaults(c.Env)
	setProbeDefaults(c.LivenessProbe)
	setProbeDefaults(c.ReadinessProbe)
	setProbeDefaults(c.StartupProbe)
}

func setProbeDefaults(p *corev1.Probe) {
	if p != nil && p.GRPC != nil && p.GRPC.Service == nil {
		p.GRPC.Service = new("")
	}
}

func setEnvDefaults(env []corev1.EnvVar) {
	for i := range env {
		setEnvSourceDefaults(env[i].ValueFrom)
	}
}

func setEnvSourceDefaults(s *corev1.EnvVarSource) {
	if s != nil && s.FileKeyRef != nil && s.FileKeyRef.Optional == nil {
		s.FileKeyRef.Optional = new(false)
	}
}

func setVolumeDefaults(v *corev1.Volume) {
	if d := v.AzureDisk; d != nil {
		if d.FSType == nil {
			d.FSType = new("ext4")
		}
		if d.ReadOnly == nil {
			d.ReadOnly = new(false)
		}
	}
	if s := v.ISCSI; s != nil {
		setText(&s.ISCSIInterface, "default")
	}
	if s := v.RBD; s != nil {
		setText(&s.RBDPool, "rbd")
		setText(&s.RadosUser, "admin")
		setText(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := v.ScaleIO; s != nil {
		setText(&s.FSType, "xfs")
		setText(&s.StorageMode, "ThinProvisioned")
	}
}

func setServiceDefaults(s *corev1.Service) {
	if s == nil {
		return
	}
	for i := range s.Spec.Ports {
		if s.Spec.Ports[i].Protocol == "" {
			s.Spec.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
}

func setText(field *string, value string) {
	if *field == "" {
		*field = value
	}
}
