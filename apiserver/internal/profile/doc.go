// Package profile has the profiles of a platform team: pieces of RayClusters by name, which objects name in a label. A profile is a
// ConfigMap, as a compute template of V1 is. Everything but [Reader] is pure.
package profile
