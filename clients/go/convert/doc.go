// Package convert turns the custom resources of ray.io/v1 into the messages of the v2 API and back, without loss: the messages mirror the
// resources under the same JSON names, so the JSON is the way between them.
//
// [RayCluster], [RayJob], [RayService] and [RayCronJob] are typed; [Fill] and [Tree] do the same for any message and the JSON of its resource, for
// programs that have no Go type of it. The gateway converts with this package, too.
//
// Values that the API server treats as equal, such as an empty list and an absent one behind omitempty, are returned as absent. A test
// compares the fields of the messages with those of the resources.
package convert
