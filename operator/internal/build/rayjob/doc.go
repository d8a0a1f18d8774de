// Package rayjob builds what a RayJob is made into, its RayCluster, and what a RayCronJob makes: RayJobs. The Kubernetes Job
// and the container that submit it are in package job, its head Service in package service.
package rayjob
