package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// begin sets the names of the attempt before objects with these names are created.
func begin(s *step) {
	s.act(EnsureFinalizer)
	if !s.mode(rayv1.InteractiveMode) && s.status.JobId == "" {
		if s.status.JobId = s.spec.JobId; s.status.JobId == "" {
			s.status.JobId = names.Attempt(s.in.Job.Name, s.in.Suffix())
		}
	}
	if s.status.RayClusterName == "" {
		if s.status.RayClusterName = s.spec.ClusterSelector[rayv1.LabelCluster]; s.status.RayClusterName == "" {
			s.status.RayClusterName = names.Attempt(s.in.Job.Name, s.in.Suffix())
		}
	}
	s.status.JobStatus, s.status.Reason, s.status.Message = "", "", ""
	s.status.StartTime = s.now()
	s.plan.After = time.Millisecond // continue at once
}

func deadlinePassed(s *step) bool { return s.passed(s.activeDeadline()) }

func preRunningPassed(s *step) bool { return s.passed(s.preRunningDeadline()) }

func exceedPreRunning(s *step) {
	s.giveUp(rayv1.PreRunningDeadlineExceeded, "the job did not run within preRunningDeadlineSeconds")
}

func (s *step) lookAtDeadlines() {
	s.lookAt(s.activeDeadline())
	if s.in.Job.Status.JobDeploymentStatus != running {
		s.lookAt(s.preRunningDeadline())
	}
}

func selectedMissing(s *step) bool { return s.selects() && !s.in.Cluster.alive() }

func awaitSelected(s *step) {
	s.status.Message = "waiting for RayCluster " + s.status.RayClusterName + ", which clusterSelector names"
	s.lookAtDeadlines()
}

func clusterMissing(s *step) bool { return !s.selects() && !s.in.Cluster.alive() }

func createCluster(s *step) {
	if !s.in.Cluster.Deleting {
		s.act(Reserve, EnsureCluster)
	}
	s.plan.Waits = "RayCluster " + s.status.RayClusterName + " to be made"
	s.lookAtDeadlines()
}

// sidecarEnded reports whether the container has ended, which keeps the head Pod and the cluster from becoming ready.
func sidecarEnded(s *step) bool {
	return s.mode(rayv1.SidecarMode) && s.in.Submitter.finished() && s.address() != ""
}

// notReady reports whether the cluster has never been ready. A known address means that it was, and the replacement of a head does
// not revert that.
func notReady(s *step) bool {
	return s.status.DashboardURL == "" && (!s.in.Cluster.Ready || s.in.Cluster.Dashboard == "")
}

func awaitReady(s *step) {
	s.act(Reserve)
	if sidecarSubmits(s) {
		s.act(Poll)
	}
	s.waitFor("RayCluster " + s.status.RayClusterName + " to be ready")
	s.lookAtDeadlines()
}

// sidecarSubmits reports whether the head of the attempt's cluster submits the job as soon as it is up.
func sidecarSubmits(s *step) bool {
	return s.mode(rayv1.SidecarMode) && wasInitializing(s) && s.in.Cluster.Dashboard != ""
}

func interactive(s *step) bool { return s.mode(rayv1.InteractiveMode) }

func (s *step) takeAddress() {
	s.status.Message, s.status.DashboardURL = "", s.address()
}

func toWaiting(s *step) {
	s.takeAddress()
	s.plan.After = time.Millisecond
}

// foreignTime is the interval at which to look whether the Job of another owner is gone. Jobs of others are not watched.
const foreignTime = 10 * time.Second

func submitterForeign(s *step) bool { return s.mode(rayv1.K8sJobMode) && s.in.Submitter.Foreign }

// NameTaken returns the message of a RayJob whose submitter cannot be created because a Job of another owner has its name.
func NameTaken(j *rayv1.RayJob) string {
	return "a Job named " + j.Name + " belongs to somebody else; delete or rename it"
}

func awaitName(s *step) {
	s.takeAddress()
	s.status.Message = NameTaken(s.in.Job)
	s.lookAtDeadlines()
	s.lookAt(s.in.Now.Add(foreignTime))
}

// toRunning creates the submitter first: it needs the address, which is saved together with the new state.
func toRunning(s *step) {
	s.takeAddress()
	if s.mode(rayv1.K8sJobMode) && !s.in.Submitter.Found {
		s.act(EnsureSubmitter)
	}
	s.plan.After = time.Millisecond
}

func jobGiven(s *step) bool { return s.spec.JobId != "" }

func takeJob(s *step) {
	s.status.JobId, s.status.Message = s.spec.JobId, ""
	s.plan.After = time.Millisecond
}

func awaitJob(s *step) {
	if clusterMissing(s) && !s.in.Cluster.Deleting {
		s.act(EnsureCluster)
	}
	s.waitFor("spec.jobId")
	s.lookAtDeadlines()
}
