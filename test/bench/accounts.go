package main

import (
	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// accounts are the kinds whose requests are counted, with the requests that are necessary.
func accounts() []account {
	return []account{
		{
			life:  clustersOf(smallWorkers),
			limit: 8,
			necessary: []necessary{
				{request{"create", "pods"}, 1 + smallWorkers, "one per Pod"},
				{request{"create", "services"}, 1, "workers and users find the head by it"},
				{request{"create", "events.events.k8s.io"}, 1, "says which Pods and Service were created"},
				{request{"update", "rayclusters.ray.io/status"}, 2, "ready, and the Pods before, which KubeRay's users watch"},
			},
		},
		{
			life: jobsIn(rayv1.HTTPMode), limit: 12,
			necessary: append(necessaryOfJobs(),
				necessary{request{"create", "events.events.k8s.io"}, 4, "as in KubeRay: Pod and Service of the cluster; cluster created; Service created; cluster deleted"}),
		},
		{
			life: jobsIn(rayv1.K8sJobMode), limit: 13,
			necessary: append(necessaryOfJobs(),
				necessary{request{"create", "jobs.batch"}, 1, "submits the Ray job"},
				necessary{request{"create", "events.events.k8s.io"}, 5, "as in HTTPMode; Job created"}),
		},
		{
			life:  servicesOf(1),
			limit: 16,
			necessary: []necessary{
				{request{"create", "rayclusters.ray.io"}, 1, "the cluster that serves"},
				{request{"create", "pods"}, 2, "one per Pod"},
				{request{"create", "services"}, 3, "of the head; of the RayService for its head, and for its applications"},
				{request{"patch", "pods"}, 1, "the label by which the Service finds the head once its proxy is ready"},
				{request{"create", "events.events.k8s.io"}, 6, "as in KubeRay: Pods and Service of the cluster; cluster created; configuration sent; Services created; head labelled; cluster deleted"},
				{request{"update", "rayclusters.ray.io/status"}, 2, "head ready, by which the configuration is sent; ready"},
				{request{"update", "rayservices.ray.io/status"}, 3, "name of the cluster before it is created; deploys; ready"},
				{request{"patch", "rayservices.ray.io"}, 2, "KubeRay's finalizer, which keeps the RayService until its clusters are gone; metadata is not written with the status"},
				{request{"delete", "rayclusters.ray.io"}, 1, "the garbage collector waits for the RayService"},
			},
		},
	}
}

// necessaryOfJobs are the requests of a RayJob in every mode.
func necessaryOfJobs() []necessary {
	return []necessary{
		{request{"create", "rayclusters.ray.io"}, 1, "the cluster of the job"},
		{request{"create", "pods"}, 1, "its head"},
		{request{"create", "services"}, 2, "of its head; of the RayJob for the head of its present cluster, as in KubeRay"},
		{request{"update", "rayclusters.ray.io/status"}, 1, "ready, by which the job starts"},
		{request{"update", "rayjobs.ray.io/status"}, 3, "id and name of the cluster before they are used; the job runs; it ended"},
		{request{"patch", "rayjobs.ray.io"}, 2, "KubeRay's finalizer, by which a deleted RayJob stops its Ray job; metadata is not written with the status"},
		{request{"delete", "rayclusters.ray.io"}, 1, "shutdownAfterJobFinishes"},
	}
}
