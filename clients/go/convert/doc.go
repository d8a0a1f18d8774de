// Package convert turns the custom resources of ray.io/v1 into the messages of the v2 API and back, without loss: the messages mirror the
// resources under the same JSON names, so the JSON is the way between them.
//
// [RayCluster], [RayJob], [RayService] and [RayCronJob] are typed; [Fill] and [Tree] do the same for any message and the JSON of its resource, for
// programs that have no Go type of it. The gateway converts with this package, too.
//
// What the API server does not tell apart (an empty list and an absent one behind omitempty) comes back as absent. A test holds the fields of messages
// and resources to each other.
package convert
