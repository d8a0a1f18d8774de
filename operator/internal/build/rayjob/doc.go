// Package rayjob builds the RayCluster of a RayJob and the RayJobs of a RayCronJob. Package job builds the Kubernetes Job and the
// container that submit, package service the head Service.
package rayjob
