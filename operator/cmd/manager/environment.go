package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// variable describes an environment variable of the operator, for the documentation. Names, defaults and effects are those of
// KubeRay 1.7, whose charts set them.
type variable struct{ name, unset, effect string }

// variables are all of them, in the order of the documentation.
var variables = []variable{
	{"ENABLE_WEBHOOKS", "off", "exactly `true`: serve the admission webhooks"},
	{"ENABLE_INIT_CONTAINER_INJECTION", "on", "`false`: workers do not wait for the head in an init container"},
	{"ENABLE_PROBES_INJECTION", "on", "`false`: no liveness and readiness probes are added to Ray containers"},
	{"ENABLE_LOGIN_SHELL", "off", "`true`: Ray is started in a login shell"},
	{"ENABLE_DETERMINISTIC_HEAD_POD_NAME", "off", "`true`: the name of the head Pod is `<cluster>-head`, without a suffix"},
	{"ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", "off", "`true`: the head Service has a cluster IP and is not headless"},
	{"ENABLE_RANDOM_POD_DELETE", "off", "`true`: surplus workers are also removed while the autoscaler is on"},
	{"ENABLE_GCS_FT_REDIS_CLEANUP", "on", "`false`: no Job removes the metadata of a deleted cluster from Redis"},
	{"CLUSTER_DOMAIN", "`cluster.local`", "the DNS domain of Services"},
	{"USE_INGRESS_ON_OPENSHIFT", "off", "`true`: use an Ingress in place of a Route on OpenShift"},
	{"RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "0", "reconcile each RayCluster at this interval, in seconds; 0 or less: only after changes (KubeRay: 300)"},
	{"ENABLE_ZERO_DOWNTIME", "on", "`false`: a RayService without an upgrade strategy gets no second cluster for an upgrade"},
	{"DELETE_RAYJOB_CR_AFTER_JOB_FINISHES", "off", "`true`: with shutdownAfterJobFinishes the RayJob itself is deleted; `deleteRayJobAfterJobFinishes` of the file wins"},
	{"RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", "300", "end a RayJob whose submitter lags behind for this many seconds"},
	{"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", "300", "fail a RayJob after this many seconds without a response of the dashboard; 0 or less: 300"},
	{"RAYJOB_SUBMITTER_FINISHED_TIMEOUT_SECONDS", "0", "stop a Ray job that still runs this many seconds after its submitter succeeded, and fail the RayJob; 0: use the result of the Ray job (KubeRay: 30)"},
}

// environment reads the variables and collects their errors. KubeRay treats an invalid value as unset. Here the operator does not
// start, because the value was set on purpose.
type environment struct {
	get  func(string) string
	errs []error
}

// flag reads a switch, ignoring case.
func (e *environment) flag(name string, unset bool) bool {
	switch value := e.get(name); strings.ToLower(value) {
	case "":
		return unset
	case "true":
		return true
	case "false":
		return false
	default:
		e.refuse(name, value, "true or false")
		return unset
	}
}

// exact reads a switch that KubeRay compares with case: True must not enable it.
func (e *environment) exact(name string) bool {
	switch value := e.get(name); value {
	case "true":
		return true
	case "", "false":
		return false
	default:
		e.refuse(name, value, "true or false, in lower case")
		return false
	}
}

// seconds reads a whole number of seconds that is at least least.
func (e *environment) seconds(name string, unset time.Duration, least int32) time.Duration {
	value := e.get(name)
	if value == "" {
		return unset
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < int64(least) {
		e.refuse(name, value, fmt.Sprintf("a whole number of seconds of at least %d", least))
		return unset
	}
	return time.Duration(n) * time.Second
}

func (e *environment) domain(name string) string {
	value := e.get(name)
	if value != "" && len(validation.IsDNS1123Subdomain(value)) > 0 {
		e.refuse(name, value, "a DNS name such as cluster.local")
		return ""
	}
	return value
}

func (e *environment) refuse(name, value, want string) {
	e.errs = append(e.errs, fmt.Errorf("environment variable %s is %q, but must be %s; correct or unset it", name, value, want))
}
