// Package rayjob reconciles RayJobs: it creates the cluster of a job, submits the job, follows it and cleans up. Package jobplan
// decides the next actions. This package observes the state and carries out the plan.
//
// A reconcile only calls the API server. A poller queries dashboards in the background and triggers a reconcile when an answer
// changes.
package rayjob
