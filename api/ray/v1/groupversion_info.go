package v1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all kinds in this package.
const GroupName = "ray.io"

var (
	// GroupVersion is the group and version of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

	// SchemeGroupVersion is GroupVersion under the name that generated clients look for.
	SchemeGroupVersion = GroupVersion
)

// Resource qualifies a resource name such as "rayclusters" with the group, as error constructors of apimachinery want it.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}
