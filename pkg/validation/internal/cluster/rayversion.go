package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// First releases of Ray with what a field asks for.
var (
	rayWithTokenAuth     = version.MustParseGeneric("2.52.0")
	rayWithK8sTokenAuth  = version.MustParseGeneric("2.55.0")
	rayWithGroupPriority = version.MustParseGeneric("2.56.0")
	rayWithAutoscalerV2  = version.MustParseGeneric("2.10.0")
)

// parseRayVersion reads two or more numbers with dots between, after an optional v; anything that follows, as in
// 2.9.0rc1, does not count. It returns nil for other text.
func parseRayVersion(text string) *version.Version {
	v, err := version.ParseGeneric(text)
	if err != nil {
		return nil
	}
	return v
}

// imageRayVersion reads the version from the tag of an image of Ray, as in rayproject/ray:2.52.0-py310-gpu. It returns
// nil when the image is not named after Ray, so that a company's own numbering is not taken for Ray's.
func imageRayVersion(image string) *version.Version {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	name, tag, tagged := strings.Cut(name, ":")
	if !tagged || !strings.Contains(strings.ToLower(name), "ray") {
		return nil
	}
	return parseRayVersion(tag)
}
