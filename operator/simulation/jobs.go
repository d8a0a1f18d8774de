package simulation

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
	"github.com/raygate/raygate/pkg/dashboard"
)

const actorJobs = "job-controller"

var kindJob = batchv1.SchemeGroupVersion.WithKind("Job").GroupKind()

// jobs is the controller of Kubernetes Jobs with one Pod.
type jobs struct{ world *world }

// changed is called by the store.
func (j *jobs) changed(c apiserver.Change) {
	var key types.NamespacedName
	switch o := c.Object().(type) {
	case *batchv1.Job:
		key = client.ObjectKeyFromObject(o)
	case *corev1.Pod:
		name := controlledBy(o, "Job")
		if name == "" {
			return
		}
		key = types.NamespacedName{Namespace: o.Namespace, Name: name}
	default:
		return
	}
	w := j.world
	w.after(w.between("job "+key.Name, 20*time.Millisecond, time.Second), "job "+key.Name, func() { j.sync(key) })
}

// sync brings a Job one step on.
func (j *jobs) sync(key types.NamespacedName) {
	w := j.world
	job, ok := w.store.Find(kindJob, key).(*batchv1.Job)
	if !ok || job.DeletionTimestamp != nil || finished(job) {
		return
	}
	active, succeeded, failed := j.count(job)
	end := batchv1.JobConditionType("")
	switch {
	case succeeded > 0:
		end = batchv1.JobComplete
	case active == 0 && failed > ptr.Deref(job.Spec.BackoffLimit, 6):
		end = batchv1.JobFailed
	}
	w.store.Mutate(actorJobs, kindJob, key, func(o client.Object) {
		st := &o.(*batchv1.Job).Status
		st.Active, st.Succeeded, st.Failed = active, succeeded, failed
		if end != "" {
			c := batchv1.JobCondition{Type: end, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
			if end == batchv1.JobFailed {
				c.Reason, c.Message = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
			} else {
				st.CompletionTime = new(metav1.Now())
			}
			st.Conditions = append(st.Conditions, c)
		}
	})
	if end != "" || active > 0 {
		return
	}
	attempt := failed
	w.after(w.between("backoff "+key.Name, 0, 10*time.Second)*time.Duration(min(attempt, 1)), "pod of "+key.Name, func() { j.create(key, attempt) })
}

// count counts the Pods of a Job. Failed ones that are gone count, too.
func (j *jobs) count(job *batchv1.Job) (active, succeeded, failed int32) {
	for _, o := range j.world.store.All(kindPod) {
		p := o.(*corev1.Pod)
		switch {
		case !metav1.IsControlledBy(p, job):
		case p.Status.Phase == corev1.PodSucceeded:
			succeeded++
		case p.Status.Phase == corev1.PodFailed, p.DeletionTimestamp != nil:
			failed++
		default:
			active++
		}
	}
	return active, succeeded, max(failed, job.Status.Failed)
}

func finished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// create makes the Pod of an attempt, unless there is one.
func (j *jobs) create(key types.NamespacedName, attempt int32) {
	w := j.world
	job, ok := w.store.Find(kindJob, key).(*batchv1.Job)
	if !ok || job.DeletionTimestamp != nil || finished(job) || job.Status.Failed != attempt {
		return
	}
	for _, o := range w.store.All(kindPod) {
		if p := o.(*corev1.Pod); metav1.IsControlledBy(p, job) && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			return
		}
	}
	p := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.GenerateName = job.Namespace, job.Name+"-"
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	p.Labels[batchv1.JobNameLabel], p.Labels[batchv1.ControllerUidLabel] = job.Name, string(job.UID)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	_ = w.store.Create(actorJobs, p)
}

// submitter is the process of a container that submits a job and follows its log.
type submitter struct {
	world     *world
	pod       types.NamespacedName
	uid       types.UID
	container string
	service   string // of the head; empty for the head of its own Pod
	id        string
	attaches  bool
	// entrypoint is what Ray is given.
	entrypoint string
	hangs      bool // for good
	restarts   bool // after a failure
	head       *ray // whose log it follows
}

var (
	dashboardHost = regexp.MustCompile(`--address '?http://([^.:/']+)`)
	submissionID  = regexp.MustCompile(`--submission-id '?([^ ']+)`)
)

// submitterOf reads the command of a container; nil if it does not submit.
func submitterOf(p *corev1.Pod, c *corev1.Container) *submitter {
	script := strings.Join(append(slices.Clone(c.Command), c.Args...), " ")
	id, host := submissionID.FindStringSubmatch(script), dashboardHost.FindStringSubmatch(script)
	if id == nil || host == nil {
		return nil
	}
	s := &submitter{
		pod: client.ObjectKeyFromObject(p), uid: p.UID, container: c.Name, id: id[1], service: host[1],
		attaches: strings.Contains(script, "ray job logs"),
		restarts: c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyOnFailure,
	}
	if s.entrypoint = "x"; strings.Contains(script, entrypointRefused) {
		s.entrypoint = entrypointRefused
	}
	if p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) {
		s.service = ""
	}
	return s
}

// runs reports whether the container still does.
func (s *submitter) runs() bool {
	p := (&nodes{s.world}).pod(s.pod, s.uid)
	if p == nil {
		return false
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == s.container && c.State.Running != nil })
}

// ray is the one that it talks to; nil while there is none.
func (s *submitter) ray() *ray {
	var head *ray
	if s.service != "" {
		head = s.world.rays.behind(s.service)
	} else {
		head = s.world.rays.on(s.uid)
	}
	if head == nil || s.world.fault(faultDashboard, head.cluster) > 0 {
		return nil
	}
	return head
}

// wait waits for the dashboard, then submits what Ray does not have.
func (s *submitter) wait() {
	if !s.runs() {
		return
	}
	w := s.world
	s.head = s.ray()
	if s.head == nil {
		w.after(2*time.Second, "submitter "+s.pod.Name, s.wait)
		return
	}
	if _, err := s.head.status(s.id); err != nil || !s.attaches {
		w.watch.submits(s)
		w.log("submitter %s submits %s", s.pod.Name, s.id)
		if _, err := s.head.submit(context.Background(), dashboard.Submission{Entrypoint: s.entrypoint, SubmissionID: s.id}); err != nil {
			s.exit(1)
			return
		}
	}
	s.follow()
}

// follow goes by the log until the job ends or the connection breaks.
func (s *submitter) follow() {
	if !s.runs() {
		return
	}
	w := s.world
	status, err := s.head.status(s.id)
	switch {
	case s.head.gone() || err != nil:
		s.exit(1)
	case w.chance("stuck "+s.id, 0.001):
		w.log("submitter %s hangs", s.pod.Name)
		s.hangs = true
	case w.chance("detached "+s.id, 0.001):
		s.exit(0)
	case status == dashboard.Succeeded, status.Final() && s.attaches:
		s.exit(0)
	case status.Final():
		s.exit(1)
	default:
		w.after(time.Second, "submitter "+s.pod.Name, s.follow)
	}
}

// again has the kubelet restart the container, after a while.
func (s *submitter) again(code int32) {
	set := func(change func(*corev1.ContainerStatus)) {
		s.world.store.Mutate(actorNode, kindPod, s.pod, func(o client.Object) {
			for i := range o.(*corev1.Pod).Status.ContainerStatuses {
				if c := &o.(*corev1.Pod).Status.ContainerStatuses[i]; c.Name == s.container {
					change(c)
				}
			}
		})
	}
	set(func(c *corev1.ContainerStatus) {
		terminate(c, code)
		c.LastTerminationState, c.State = c.State, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	})
	s.world.after(s.world.between("crash "+s.pod.Name, 5*time.Second, 20*time.Second), "submitter "+s.pod.Name, func() {
		if p := (&nodes{s.world}).pod(s.pod, s.uid); p == nil || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			return
		}
		set(func(c *corev1.ContainerStatus) {
			c.RestartCount++
			c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		})
		s.wait()
	})
}

// exit ends the process, and with it a Pod that has no other.
func (s *submitter) exit(code int32) {
	w := s.world
	w.log("submitter %s exits with %d", s.pod.Name, code)
	if code != 0 && s.restarts {
		s.again(code)
		return
	}
	w.store.Mutate(actorNode, kindPod, s.pod, func(o client.Object) {
		p := o.(*corev1.Pod)
		running := false
		for i := range p.Status.ContainerStatuses {
			if c := &p.Status.ContainerStatuses[i]; c.Name == s.container {
				terminate(c, code)
			} else {
				running = running || c.State.Running != nil
			}
		}
		if running {
			return
		}
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
	})
}
