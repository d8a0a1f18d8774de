// Package failures lists how calls of the gateway fail, for the generated documents: the OpenAPI document and the reference page.
//
// The list must match the gateway: a test of apiserver/internal/rest/v2 compares each entry with real answers, and finds reasons that are
// missing here.
package failures

import (
	"net/http"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
)

// Failure is one way in which calls fail.
type Failure struct {
	// Code is the gRPC code, Reason that of the ErrorInfo.
	Code   codes.Code
	Reason string
	// When is a sentence for people, which follows the reason.
	When string
	// Retry means that the answer has a retry delay: RetryInfo, by REST also Retry-After.
	Retry bool
	// Fields are an example of the fields at fault, where the answer names them.
	Fields []string
	// of selects the methods that fail in this way. Nil means all.
	of func(Method) bool
	// restOnly means that only REST has the failure.
	restOnly bool
}

// exact are the reasons whose HTTP status is more precise than that of their code.
var exact = map[string]int{
	"TOO_LARGE": http.StatusRequestEntityTooLarge, "UNSUPPORTED_MEDIA_TYPE": http.StatusUnsupportedMediaType,
	"METHOD_NOT_ALLOWED": http.StatusMethodNotAllowed, "FOREIGN_ORIGIN": http.StatusForbidden,
}

// HTTP is the status by REST.
func (f Failure) HTTP() int {
	if status, ok := exact[f.Reason]; ok {
		return status
	}
	return runtime.HTTPStatusFromCode(f.Code)
}

// RESTOnly reports whether only REST has the failure.
func (f Failure) RESTOnly() bool { return f.restOnly }

// Method has the properties of a method that decide about its failures.
type Method struct {
	// Name of the RPC, such as CreateCluster.
	Name string
	// Mutates means that the method may change something, Body that it has an object or a verb's parameters as its REST body.
	Mutates, Body bool
	// Named means that the method is about one object.
	Named bool
}

func (m Method) is(verbs ...string) bool {
	return slices.ContainsFunc(verbs, func(verb string) bool { return strings.HasPrefix(m.Name, verb) })
}

// Of returns the failures of a method, in the order of All.
func Of(m Method) []Failure {
	return slices.DeleteFunc(slices.Clone(All), func(f Failure) bool { return f.of != nil && !f.of(m) })
}

func mutates(m Method) bool { return m.Mutates }
func body(m Method) bool    { return m.Body }
func named(m Method) bool   { return m.Named }
func verbs(list ...string) func(Method) bool {
	return func(m Method) bool { return m.is(list...) }
}
func reads(m Method) bool { return m.is("Get", "Watch", "Wait") || lists(m) }
func lists(m Method) bool { return m.is("List") && !strings.HasSuffix(m.Name, "Events") }
func nothing(Method) bool { return false }

// dashboards are the methods that ask the dashboard of a cluster.
func dashboards(m Method) bool {
	return strings.Contains(m.Name, "Submission") || packages(m) || m.is("StopJob", "GetJobLogs", "GetNodeLogs")
}

// packages are the methods about packages of files.
func packages(m Method) bool { return strings.HasSuffix(m.Name, "Package") }

// past are the methods that read the history.
func past(m Method) bool {
	return strings.HasSuffix(m.Name, "History") || m.is("GetJobLogs", "GetUsage", "DiagnoseJob", "DiagnoseCluster")
}

// All are the ways in which calls fail, by HTTP status.
var All = []Failure{
	{Code: codes.InvalidArgument, Reason: "INVALID_ARGUMENT", When: "a parameter is wrong", Fields: []string{"view"}},
	{Code: codes.InvalidArgument, Reason: "MALFORMED_BODY", When: "the body is no such object: not JSON, YAML or protobuf, an unknown field, a wrong type", Fields: []string{"spec.headGroupSpecs"}, of: body},
	{Code: codes.InvalidArgument, Reason: "INVALID_SPEC", When: "the object breaks rules, of raygate, of the CRD or of an admission webhook; all of them are listed", Fields: []string{"spec.workerGroupSpecs[0].minReplicas"}, of: mutates},
	{Code: codes.InvalidArgument, Reason: "VERSION_REQUIRED", When: "neither metadata.resourceVersion, an etag nor allow_overwrite is given", Fields: []string{"metadata.resourceVersion"}, of: verbs("Replace")},
	{Code: codes.InvalidArgument, Reason: "PAGE_TOKEN_EXPIRED", When: "the page token is older than it may be: list again without it", Fields: []string{"page_token"}, of: lists},
	{Code: codes.InvalidArgument, Reason: "VERSION_NOT_REACHED", When: "X-Min-Resource-Version is newer than anything that Kubernetes has", Fields: []string{"x-min-resource-version"}, of: reads},
	{Code: codes.InvalidArgument, Reason: "EXPIRED", When: "Kubernetes says that a version is too old", of: lists},
	{Code: codes.InvalidArgument, Reason: "BODY_INCOMPLETE", When: "the body ended early", of: body, restOnly: true},
	{Code: codes.InvalidArgument, Reason: "BAD_PATH", When: "the path cannot be read", restOnly: true, of: nothing},
	{Code: codes.InvalidArgument, Reason: "NOT_A_WEBSOCKET", When: "a tunnel is asked for without a WebSocket", restOnly: true, of: nothing},
	{Code: codes.InvalidArgument, Reason: "WRONG_SIZE", When: "the package has more or fewer bytes than announced", of: verbs("UploadPackage")},
	{Code: codes.InvalidArgument, Reason: "WRONG_SUM", When: "the package has another SHA-256 sum than its name", of: verbs("UploadPackage")},
	{Code: codes.FailedPrecondition, Reason: "WRONG_STATE", When: "the object is in a state in which this makes no sense, such as to suspend a job that has ended", of: verbs("Suspend", "Resume", "Scale")},
	{Code: codes.FailedPrecondition, Reason: "WILL_NOT_HAPPEN", When: "the object cannot get into the state any more", of: verbs("Wait")},
	{Code: codes.FailedPrecondition, Reason: "NAMESPACE_TERMINATING", When: "the namespace is being deleted", of: verbs("Create", "Apply")},
	{Code: codes.FailedPrecondition, Reason: "REFUSED", When: "Kubernetes refuses the request for a reason without a code of its own", of: mutates},
	{Code: codes.InvalidArgument, Reason: "REFUSED_BY_RAY", When: "Ray refuses the request; the message is Ray's", of: dashboards},
	{Code: codes.FailedPrecondition, Reason: "CLUSTER_NOT_READY", When: "the cluster has no head that could be asked", of: dashboards},
	{Code: codes.FailedPrecondition, Reason: "CLUSTER_TOKEN_REFUSED", When: "the cluster does not accept the token of its Secret", of: dashboards},
	{Code: codes.FailedPrecondition, Reason: "CLUSTER_GONE", When: "the cluster on which the job ran is gone, and the history does not have its log", of: verbs("StopJob", "GetJobLogs")},
	{Code: codes.FailedPrecondition, Reason: "JOB_NOT_STARTED", When: "there is no Ray job yet; the message says what is waited for", of: verbs("StopJob", "GetJobLogs")},
	{Code: codes.FailedPrecondition, Reason: "JOB_RECORD_LOST", When: "the head that knew the job is gone", of: verbs("StopJob", "GetJobLogs")},
	{Code: codes.FailedPrecondition, Reason: "JOB_ENDED", When: "the job has ended: there is nothing to stop", of: verbs("Stop")},
	{Code: codes.FailedPrecondition, Reason: "JOB_RUNNING", When: "the job has not ended: stop it first", of: verbs("DeleteSubmission")},
	{Code: codes.FailedPrecondition, Reason: "NO_SUBMITTER", When: "in this submission mode there is no Pod that submits", of: verbs("GetJobLogs")},
	{Code: codes.FailedPrecondition, Reason: "SUBMITTER_GONE", When: "the Pod that submitted is gone, and its log with it", of: verbs("GetJobLogs")},
	{Code: codes.FailedPrecondition, Reason: "LOG_NOT_READY", When: "the container has no log yet", of: verbs("GetJobLogs")},
	{Code: codes.FailedPrecondition, Reason: "COMPUTE_TEMPLATE_NOT_FOUND", When: "in KubeRay's V1 API, a group names a compute template that there is not", of: nothing},
	{Code: codes.FailedPrecondition, Reason: "DELETING", When: "the object is being deleted", of: verbs("Trigger")},
	{Code: codes.FailedPrecondition, Reason: "NO_LOGIN", When: "somebody logs in to the console of a gateway that takes no tokens, or opens a page of a dashboard without one", restOnly: true, of: nothing},
	{Code: codes.FailedPrecondition, Reason: "NO_HISTORY", When: "the gateway has no history store", of: past},
	{Code: codes.FailedPrecondition, Reason: "NO_PACKAGE_STORE", When: "the gateway keeps no packages for clusters that do not exist yet", of: packages},
	{Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED", When: "the call has no credentials, or bad ones; answered before the body is read"},
	{Code: codes.Unauthenticated, Reason: "SESSION_ENDED", When: "the session of the console has ended at the identity provider, or has expired", restOnly: true, of: nothing},
	{Code: codes.Unauthenticated, Reason: "LOGIN_REFUSED", When: "the identity provider refuses a login to the console, or its token is not accepted", restOnly: true, of: nothing},
	{Code: codes.Unauthenticated, Reason: "TICKET_EXPIRED", When: "the address of a page of a dashboard has expired, or is another gateway's", restOnly: true, of: nothing},
	{Code: codes.PermissionDenied, Reason: "FORBIDDEN", When: "Kubernetes does not allow it; also for an object that is not there, when the caller may not know"},
	{Code: codes.PermissionDenied, Reason: "FOREIGN_ORIGIN", When: "a page of another site called a gateway without authentication, or with what a browser sends along by itself", restOnly: true, of: nothing},
	{Code: codes.NotFound, Reason: "NOT_FOUND", When: "there is no such object", of: named},
	{Code: codes.NotFound, Reason: "SUBMISSION_NOT_FOUND", When: "the cluster has no record of the job", of: dashboards},
	{Code: codes.NotFound, Reason: "PACKAGE_NOT_FOUND", When: "there is no such package", of: verbs("GetPackage")},
	{Code: codes.NotFound, Reason: "NAMESPACE_NOT_FOUND", When: "there is no such namespace", of: verbs("Create", "Apply")},
	{Code: codes.NotFound, Reason: "NAMESPACE_NOT_SERVED", When: "the gateway serves other namespaces only"},
	{Code: codes.NotFound, Reason: "PATH_NOT_FOUND", When: "there is nothing at the path", restOnly: true, of: nothing},
	{Code: codes.Unimplemented, Reason: "METHOD_NOT_ALLOWED", When: "the path knows other HTTP methods; Allow lists them", restOnly: true, of: nothing},
	{Code: codes.Unimplemented, Reason: "METHOD_NOT_SUPPORTED", When: "Kubernetes does not know the verb for the kind", of: nothing},
	{Code: codes.AlreadyExists, Reason: "ALREADY_EXISTS", When: "there is an object of the name", of: verbs("Create", "Trigger")},
	{Code: codes.AlreadyExists, Reason: "REQUEST_ID_REUSED", When: "the request id belongs to another body", of: verbs("Create")},
	{Code: codes.Aborted, Reason: "CONFLICT", When: "the object is not the version that the etag names, or not the one of metadata.uid, another field manager owns a field, or it changed too often meanwhile", of: func(m Method) bool { return m.Mutates && !m.is("Create") }},
	{Code: codes.ResourceExhausted, Reason: "TOO_LARGE", When: "the body is longer than the gateway or Kubernetes takes, or the answer than one caller may have, or than the gateway reads of a dashboard"},
	{Code: codes.InvalidArgument, Reason: "UNSUPPORTED_MEDIA_TYPE", When: "the content type is neither application/json nor application/yaml, or the body is compressed", of: body, restOnly: true},
	{Code: codes.ResourceExhausted, Reason: "RATE_LIMITED", When: "the caller sends more calls a second than one may", Retry: true},
	{Code: codes.ResourceExhausted, Reason: "TOO_MANY_REQUESTS", When: "the caller has as many calls in flight as one may, or Kubernetes asks to slow down", Retry: true, of: func(m Method) bool { return !m.is("Watch", "Wait") }},
	{Code: codes.ResourceExhausted, Reason: "TOO_MANY_STREAMS", When: "the caller has as many watches and waiting calls open as one may", Retry: true, of: verbs("Watch", "Wait")},
	{Code: codes.ResourceExhausted, Reason: "TOO_MANY_BYTES", When: "as many bytes are held for the caller as for one may be: those of requests, of what dashboards answer, and of answers until they are taken", Retry: true},
	{Code: codes.ResourceExhausted, Reason: "OVERLOADED", When: "the gateway has as many calls or bytes in flight as it may", Retry: true},
	{Code: codes.ResourceExhausted, Reason: "QUOTA_EXCEEDED", When: "a ResourceQuota of the namespace is used up", of: mutates},
	{Code: codes.ResourceExhausted, Reason: "PACKAGES_FULL", When: "the packages of the namespace have as many bytes as they may", of: verbs("UploadPackage")},
	{Code: codes.ResourceExhausted, Reason: "SLOW_CLIENT", When: "the client takes messages more slowly than objects change: resume with the last resume_token", of: verbs("Watch")},
	{Code: codes.Canceled, Reason: "CANCELLED", When: "the client went away", of: nothing},
	{Code: codes.Internal, Reason: "INTERNAL", When: "a fault of the gateway; the request id leads to it in the log"},
	{Code: codes.Unimplemented, Reason: "KIND_NOT_INSTALLED", When: "the CustomResourceDefinition of the kind is not installed"},
	{Code: codes.Unavailable, Reason: "BACKEND_UNAVAILABLE", When: "the Kubernetes API server cannot be reached, or a webhook fails; reads go on from the cache", Retry: true},
	{Code: codes.Unavailable, Reason: "PROVIDER_AWAY", When: "the identity provider does not answer a login to the console or the renewal of its session", restOnly: true, of: nothing},
	{Code: codes.Unavailable, Reason: "PORT_UNAVAILABLE", When: "nothing answers at the port of a tunnel", Retry: true, restOnly: true, of: nothing},
	{Code: codes.Unavailable, Reason: "DASHBOARD_UNAVAILABLE", When: "the dashboard of the cluster does not answer", Retry: true, of: dashboards},
	{Code: codes.Unavailable, Reason: "HISTORY_UNAVAILABLE", When: "the history store cannot be read now", Retry: true, of: past},
	{Code: codes.Unavailable, Reason: "PACKAGES_UNAVAILABLE", When: "the store of packages cannot be used now", Retry: true, of: verbs("GetPackage", "UploadPackage")},
	{Code: codes.Unavailable, Reason: "NOT_READY", When: "the gateway has just started and has not read all objects", Retry: true, of: func(m Method) bool { return !m.is("Create") }},
	{Code: codes.Unavailable, Reason: "GATEWAY_CREDENTIALS", When: "Kubernetes refuses what the gateway reads on its own account", Retry: true},
	{Code: codes.Unavailable, Reason: "DRAINING", When: "the gateway is about to stop: connect to another replica", Retry: true},
	{Code: codes.Unavailable, Reason: "VERSION_NOT_REACHED", When: "the cache has not reached X-Min-Resource-Version in time", Retry: true, of: reads},
	{Code: codes.Unavailable, Reason: "STREAM_AGE", When: "the stream is as old as it may be: connect again and resume", Retry: true, of: verbs("Watch")},
	{Code: codes.DeadlineExceeded, Reason: "DEADLINE_EXCEEDED", When: "the time that the client gave, or a minute, is over"},
	{Code: codes.DeadlineExceeded, Reason: "BODY_INCOMPLETE", When: "the body did not arrive in time", of: body},
	{Code: codes.DeadlineExceeded, Reason: "WAIT_TIMEOUT", When: "the object did not get into the state within `timeout`; the message says how far it is", of: verbs("Wait")},
}
