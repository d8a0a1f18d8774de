// Package convert turns the custom resources of ray.io/v1 into the messages of the v2 API and back, without loss: the messages mirror the
// resources under the same JSON names, so the JSON is the way between them.
//
// [RayCluster], [RayJob], [RayService] and [RayCronJob] are typed; [Fill] and [Tree] do the same for any message and the JSON of its resource, for
// programs that have no Go type of it. A test of the gateway holds this package to the gateway's own conversion.
package convert
