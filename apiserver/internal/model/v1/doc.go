// Package v1 converts the messages of KubeRay's V1 API to custom resources and ConfigMaps, and back. It is pure: no client, no clock.
//
// V1 has only a part of a custom resource. A create writes the fields that V1 has. An update ([UpdateService]) only changes fields whose
// value for a V1 client differs between the stored object and the wanted one. Every stored object can be shown. Fields that V1 does not
// have are left out.
//
// Labels, annotations and the ConfigMaps of compute templates are those of KubeRay's API server byte by byte, so that both can serve the same objects.
package v1
