// Package rayjob runs RayJobs: it makes the cluster of a job, has the job submitted, follows it and cleans up after it. What
// happens next is decided by package jobplan; here the world is observed, and what the plan asks for is done.
//
// A reconcile talks to nobody but the API server. Dashboards are asked by a poller in the background, whose last answers are part
// of what is observed and which wakes a reconcile when an answer changed.
package rayjob
