package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// jobServer has the methods of JobService that other kinds do not have.
type jobServer struct {
	raygatev2.UnimplementedJobServiceServer
	*resource.Resource
	proxy *dashboardproxy.Proxy
	past  past
}

// awaitRecord is the interval of checks whether a followed job has been submitted.
const awaitRecord = time.Second

// attempt is the present attempt of a RayJob: the Ray job and where it runs.
type attempt struct {
	item        *store.Item
	id, cluster string
	number      int
	state       rayv1.JobDeploymentStatus
	ray         rayv1.JobStatus
}

func attemptOf(item *store.Item) attempt {
	state := rayv1.JobDeploymentStatus(item.At("status.jobDeploymentStatus").Str)
	counted := rayv1.RayJobStatus{JobDeploymentStatus: state, Failed: new(int32(item.At("status.failed").Int()))}
	return attempt{
		item: item, id: item.At("status.jobId").Str, cluster: item.At("status.rayClusterName").Str, number: counted.Attempt(),
		state: state, ray: rayv1.JobStatus(item.At("status.jobStatus").Str),
	}
}

// checkStarted returns the reason why there is no Ray job yet.
func (a attempt) checkStarted() error {
	if a.state.IsTerminal() && (a.id == "" || a.cluster == "") || a.state != rayv1.JobDeploymentStatusRunning && !a.state.IsTerminal() {
		return a.notStarted()
	}
	return nil
}

func (a attempt) notStarted() error {
	switch {
	case a.state == rayv1.JobDeploymentStatusRunning:
		return rpcstatus.Precondition("JOB_NOT_STARTED", "the job of RayJob %s has not started: Ray does not know it yet; follow the log, or see that of the submitter", a.item.Name)
	case a.state.IsTerminal():
		return rpcstatus.Precondition("JOB_NOT_STARTED", "RayJob %s ended as %s before its job ran: %s %s", a.item.Name, a.state, a.item.At("status.reason").Str, a.item.At("status.message").Str)
	}
	return rpcstatus.Precondition("JOB_NOT_STARTED", "the job of RayJob %s has not started: the state is %q %s; wait for ready, or see :diagnose", a.item.Name, a.state, a.item.At("status.message").Str)
}

// lost returns the reason why Ray does not have the job.
func (a attempt) lost() error {
	if a.ray == rayv1.JobStatusNew {
		return a.notStarted()
	}
	return rpcstatus.Precondition("JOB_RECORD_LOST", "Ray has no record of job %s any more, which was %s: it goes with the head Pod", a.id, a.ray)
}

// open returns the dashboard of the attempt for a caller who may do verb.
func (s *jobServer) open(ctx context.Context, a attempt, verb string) (*dashboardproxy.Dashboard, dashboard.Client, error) {
	d, err := s.proxy.Open(ctx, types.NamespacedName{Namespace: a.item.Namespace, Name: a.cluster}, verb)
	if apierrors.IsNotFound(err) {
		hint := ""
		if mode := rayv1.JobSubmissionMode(a.item.At("spec.submissionMode").Str); mode == "" || mode == rayv1.K8sJobMode {
			hint = "; the Pod that submitted it may have a copy: use the source submitter"
		}
		said := ""
		if message := a.item.At("status.message").Str; message != "" {
			said = ": " + message
		}
		return nil, nil, rpcstatus.Precondition("CLUSTER_GONE", "RayCluster %s, on which job %s ran, is gone, and its log with it%s; the job is %s%s", a.cluster, a.id, hint, a.state, said)
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := d.Client()
	return d, c, err
}

// StopJob implements raygatev2.JobServiceServer.
func (s *jobServer) StopJob(ctx context.Context, req *raygatev2.StopJobRequest) (*raygatev2.StopJobResponse, error) {
	item, err := s.Find(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	a := attemptOf(item)
	switch {
	case a.state.IsTerminal():
		return nil, rpcstatus.Precondition("JOB_ENDED", "there is nothing to stop: RayJob %s has ended as %s", item.Name, a.state)
	case a.checkStarted() != nil:
		return nil, rpcstatus.Precondition("JOB_NOT_STARTED", "there is nothing to stop: the state of RayJob %s is %q; suspend or delete it to keep it from starting", item.Name, a.state)
	}
	_, c, err := s.open(ctx, a, "create")
	if err != nil {
		return nil, err
	}
	if err := stop(ctx, c, a.id); errors.Is(err, dashboard.ErrNotFound) {
		return nil, a.lost()
	} else if err != nil {
		return nil, dashboardproxy.Status(ctx, a.cluster, err)
	}
	resp := &raygatev2.StopJobResponse{}
	return resp, s.Answer(ctx, resp, true, item)
}

// GetJobLogs implements raygatev2.JobServiceServer.
func (s *jobServer) GetJobLogs(req *raygatev2.GetJobLogsRequest, stream grpc.ServerStreamingServer[raygatev2.GetJobLogsResponse]) error {
	ctx, q := stream.Context(), logQuery{req.GetFollow(), req.TailLines, req.GetOffset()}
	if err := q.check(); err != nil {
		return err
	}
	k, err := keyOfRun("RayJob", req)
	if err != nil {
		return err
	}
	source, err := s.sourceOf(req, k)
	if err != nil {
		return err
	}
	item, err := s.findForLogs(ctx, req)
	if err != nil {
		return err
	}
	if err := flowcontrol.Hold(ctx, logRoom); err != nil {
		return err
	}
	out := &logSender{send: func(data []byte, next int64) error {
		return stream.Send(&raygatev2.GetJobLogsResponse{Data: data, NextOffset: next})
	}}
	if req.GetFile() != "" {
		if item != nil {
			k.UID = cmp.Or(k.UID, string(item.UID))
		}
		return s.nodeLog(ctx, k, req, q, out)
	}
	if item == nil || k.UID != "" && k.UID != string(item.UID) {
		return s.recordedLog(ctx, k, q, out, nil)
	}
	a := attemptOf(item)
	if a.is(k.Attempt) {
		return source(ctx, a, q, out)
	}
	k.UID = string(item.UID)
	return s.recordedLog(ctx, k, q, out, &a)
}

// checkNodeLog checks what a request says about a log of a node.
func checkNodeLog(req *raygatev2.GetJobLogsRequest) error {
	switch {
	case req.GetFile() == "" && req.GetNode() == "":
		return nil
	case req.GetFile() == "":
		return rpcstatus.BadField("file", "is empty: name a log of the node, such as raylet.out, or leave out node for the log of the driver")
	case req.GetSource() != "":
		return rpcstatus.BadField("source", "has no meaning for a log of a node: leave it out")
	}
	return nil
}

// findForLogs returns the RayJob; nil if it does not exist, but may have a record.
func (s *jobServer) findForLogs(ctx context.Context, req *raygatev2.GetJobLogsRequest) (*store.Item, error) {
	item, err := s.Find(ctx, req.GetNamespace(), req.GetName())
	if apierrors.IsNotFound(err) && s.past.store != nil && req.GetSource() != "submitter" {
		return nil, nil
	}
	return item, err
}

// is reports whether a request means this attempt, which has started, by its number. 0 always means the last one.
func (a attempt) is(number int) bool {
	return number == 0 || number == a.number && a.checkStarted() == nil
}

// sourceOf returns what sends the log of a source.
func (s *jobServer) sourceOf(req *raygatev2.GetJobLogsRequest, k history.Key) (func(context.Context, attempt, logQuery, *logSender) error, error) {
	if err := checkNodeLog(req); err != nil {
		return nil, err
	}
	switch req.GetSource() {
	case "", "driver":
		return s.driverLog, nil
	case "submitter":
		if k.Attempt != 0 || k.UID != "" {
			return nil, rpcstatus.BadField("source", "the log of the submitter is that of the last attempt: leave out attempt and uid, or use driver")
		}
		return s.submitterLog, nil
	}
	return nil, rpcstatus.BadField("source", "%q is not known: use driver or submitter", rpcstatus.Quoted(req.GetSource()))
}

// driverLog sends the output of the entrypoint: that of the cluster, or that of the history if the cluster is gone.
func (s *jobServer) driverLog(ctx context.Context, a attempt, q logQuery, out *logSender) error {
	if err := a.checkStarted(); err != nil {
		return err
	}
	d, _, err := s.open(ctx, a, "get")
	if gone, ok := errors.AsType[*rpcstatus.Error](err); ok && gone.Reason == "CLUSTER_GONE" {
		return s.pastLog(ctx, a, q, out, err)
	}
	if err != nil {
		return err
	}
	return s.followDriver(ctx, d, a, q, out)
}

// followDriver sends the output that a dashboard has. A followed job that runs may not have been submitted yet: it waits for that.
func (s *jobServer) followDriver(ctx context.Context, d *dashboardproxy.Dashboard, a attempt, q logQuery, out *logSender) error {
	out.allowed = func() error { return s.proxy.StillAllowed(ctx, d) }
	c := reopened{
		open:  func(ctx context.Context) (dashboard.Client, error) { _, c, err := s.open(ctx, a, "get"); return c, err },
		ended: func() *dashboard.Job { return s.endOf(ctx, a) },
	}
	for {
		err := driverLog(ctx, c, a.id, q, out)
		if !errors.Is(err, dashboard.ErrNotFound) {
			return dashboardproxy.Status(ctx, a.cluster, err)
		}
		item, err := s.Find(ctx, a.item.Namespace, a.item.Name)
		if err != nil {
			return err
		}
		now := attemptOf(item)
		if !q.follow || now.id != a.id || now.ray != rayv1.JobStatusNew || now.state != rayv1.JobDeploymentStatusRunning {
			return now.lost()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitRecord):
		}
	}
}

// endOf is the end of a job in the status of the RayJob: the cluster may be deleted as soon as the operator has recorded it.
func (s *jobServer) endOf(ctx context.Context, a attempt) *dashboard.Job {
	item, err := s.Find(ctx, a.item.Namespace, a.item.Name)
	if err != nil {
		return nil
	}
	if now := attemptOf(item); now.id == a.id && now.ray.IsTerminal() {
		return &dashboard.Job{SubmissionID: a.id, Status: dashboard.Status(now.ray)}
	}
	return nil
}

// submitterLog sends the output of the container that submits the job to Ray, as Kubernetes returns it to the caller.
func (s *jobServer) submitterLog(ctx context.Context, a attempt, q logQuery, out *logSender) error {
	container, selector := "", labels.Set{"batch.kubernetes.io/job-name": a.item.Name}
	switch mode := rayv1.JobSubmissionMode(a.item.At("spec.submissionMode").Str); {
	case mode == rayv1.SidecarMode:
		if a.cluster == "" {
			return a.notStarted()
		}
		container, selector = rayv1.ContainerJobSubmitter, labels.Set{rayv1.LabelCluster: a.cluster, rayv1.LabelNodeType: string(rayv1.HeadNode)}
	case !mode.HasSubmitter():
		return rpcstatus.Precondition("NO_SUBMITTER", "in %s there is no Pod that submits: use the source driver", mode)
	}
	var pods corev1.PodList
	o := metav1.ListOptions{LabelSelector: selector.String()}
	request := s.Core.Get().Namespace(a.item.Namespace).Resource("pods")
	if err := request.VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(&pods); err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		if a.state.IsTerminal() {
			return rpcstatus.Precondition("SUBMITTER_GONE", "the Pod that submitted is gone, and its log with it")
		}
		return a.notStarted()
	}
	pod := slices.MaxFunc(pods.Items, func(x, y corev1.Pod) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	log := &corev1.PodLogOptions{Container: cmp.Or(container, pod.Spec.Containers[0].Name), Follow: q.follow}
	if q.tail != nil {
		log.TailLines, out.lost = new(int64(*q.tail)), true
	}
	text, err := s.Core.Get().Namespace(a.item.Namespace).Resource("pods").Name(pod.Name).SubResource("log").VersionedParams(log, scheme.ParameterCodec).Stream(ctx)
	if apierrors.IsBadRequest(err) { // the container waits to start
		return rpcstatus.Precondition("LOG_NOT_READY", "Pod %s has no log yet: %v", pod.Name, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }()
	out.from(q.offset)
	if _, err := io.Copy(out, text); err != nil {
		return fmt.Errorf("reading the log of Pod %s: %w", pod.Name, cmp.Or(ctx.Err(), err))
	}
	return nil
}
