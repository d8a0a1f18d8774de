// Package v1 turns the messages of KubeRay's V1 wire into custom resources and ConfigMaps, and those back into messages. It is pure: no client, no clock.
//
// V1 knows only a part of a custom resource. A create writes what V1 knows; an update ([UpdateService]) changes what differs between what a V1 client
// sees of the stored object and what it wants, and nothing else. Every stored object can be shown. Fields that V1 does not have are left out.
//
// Labels, annotations and the ConfigMaps of compute templates are those of KubeRay's API server byte by byte, so that both can serve the same objects.
package v1
