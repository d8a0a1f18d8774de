package move

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Names of the objects: one job ends under raygate, one outlives all operators; one service is ready, one is being upgraded when KubeRay
// stops.
const (
	ending, lasting    = "train", "night"
	steady, upgrading  = "shop", "cart"
	hashOfKubeRay      = "1R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI"
	oldImage, newImage = "rayproject/ray:2.54.0", "rayproject/ray:2.55.0"
)

// production is a namespace with jobs and services that run while the operators are replaced.
type production struct {
	*cluster
	requests map[string]*requests // by RayService
	seen     *seen
	jobs     map[string]rayv1.RayJobStatus // as KubeRay left them
	clusters map[string]string             // UIDs as KubeRay left them
}

// left is what the templates are filled with: a child of Parent, which is of Kind and has the UID Owner.
type left struct {
	Namespace, Kind, Parent, Owner, Cluster, Image string
	Serves                                         bool // the head answers for Serve
	Hash, Config                                   string
	Job, Script, Dashboard                         string
}

func newProduction(c *cluster) *production {
	c.t.Helper()
	own := *c
	own.namespace = "production"
	p := &production{cluster: &own, requests: map[string]*requests{}, jobs: map[string]rayv1.RayJobStatus{}}
	p.makeNamespace()
	p.leaveJob(ending)
	p.leaveJob(lasting)
	p.leaveService(steady, "")
	p.leaveService(upgrading, newImage)
	p.clusters = p.rayClusters()
	p.seen = p.watch()
	for _, name := range []string{steady, upgrading} {
		p.requests[name] = p.ask(name)
	}
	return p
}

func (p *production) make(name string, l left) string {
	p.t.Helper()
	var text bytes.Buffer
	if err := template.Must(template.ParseFiles("testdata/running.tmpl")).ExecuteTemplate(&text, name, l); err != nil {
		p.t.Fatal(err)
	}
	return p.createText(text.String())
}

func (p *production) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: p.namespace, Name: name}
}

// leaveCluster makes a RayCluster with its Pods and Services, and returns its status when the Pods run. Workers of a service become ready with Serve.
func (p *production) leaveCluster(l left) rayv1.RayClusterStatus {
	p.t.Helper()
	child := l
	child.Owner = p.make("cluster", l)
	p.make("children", child)
	head := &corev1.Pod{}
	p.eventually("the Pods of "+l.Cluster, func() error {
		for _, name := range []string{l.Cluster + "-cpu-worker-2qzvw", l.Cluster + "-head-k7xzq"} {
			if err := p.client.Get(p.t.Context(), p.key(name), head); err != nil {
				return err
			}
			if head.Status.Phase != corev1.PodRunning || head.Status.PodIP == "" {
				return fmt.Errorf("%s is %s", name, head.Status.Phase)
			}
		}
		return nil
	})
	now := metav1.Now()
	status := rayv1.RayClusterStatus{
		State: rayv1.ClusterStateReady, DesiredWorkerReplicas: 1, MinWorkerReplicas: 1, MaxWorkerReplicas: 4, ReadyWorkerReplicas: 1, AvailableWorkerReplicas: 1, LastUpdateTime: &now,
		Head:               rayv1.HeadInfo{PodIP: head.Status.PodIP, PodName: head.Name, ServiceIP: head.Status.PodIP, ServiceName: l.Cluster + "-head-svc"},
		Endpoints:          map[string]string{"client": "10001", "dashboard": "8265", "gcs-server": "6379", "metrics": "8080", "serve": "8000"},
		ObservedGeneration: 1,
		Conditions: []metav1.Condition{
			{Type: rayv1.HeadPodReady, Status: metav1.ConditionTrue, Reason: rayv1.ReasonHeadPodRunningAndReady, LastTransitionTime: now},
			{Type: rayv1.RayClusterProvisioned, Status: metav1.ConditionTrue, Reason: rayv1.ReasonAllPodRunningAndReadyFirstTime, LastTransitionTime: now},
		},
	}
	rc := &rayv1.RayCluster{}
	if err := p.client.Get(p.t.Context(), p.key(l.Cluster), rc); err != nil {
		p.t.Fatal(err)
	}
	rc.Status = status
	if err := p.client.Status().Update(p.t.Context(), rc); err != nil {
		p.t.Fatal(err)
	}
	return status
}

// leaveJob makes a job that its submitter has submitted and that runs until finish.
func (p *production) leaveJob(name string) {
	p.t.Helper()
	script := filepath.Join(p.work, name+".sh")
	text := fmt.Sprintf("echo run >> %s/%s.runs; until test -e %s/%s.end; do sleep 0.2; done\n", p.work, name, p.work, name)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	l := left{Namespace: p.namespace, Kind: "RayJob", Parent: name, Cluster: name + "-x2f7q", Image: oldImage, Script: script, Job: name + "-8mzq2"}
	l.Dashboard = l.Cluster + "-head-svc." + p.namespace + ".svc.cluster.local:8265"
	l.Owner = p.make("job", l)
	status := p.leaveCluster(l)
	p.make("submitter", l)
	p.eventually("Ray to run "+name, func() error {
		_, err := os.Stat(filepath.Join(p.work, name+".runs"))
		return err
	})
	j := p.job(name)
	now := metav1.Now()
	j.Status = rayv1.RayJobStatus{
		JobId: l.Job, RayClusterName: l.Cluster, DashboardURL: l.Dashboard, JobStatus: rayv1.JobStatusRunning, JobDeploymentStatus: rayv1.JobDeploymentStatusRunning,
		Message: "Job is currently running.", StartTime: &now, RayJobStatusInfo: rayv1.RayJobStatusInfo{StartTime: &now}, Succeeded: new(int32(0)), Failed: new(int32(0)), RayClusterStatus: status,
	}
	if err := p.client.Status().Update(p.t.Context(), j); err != nil {
		p.t.Fatal(err)
	}
	p.jobs[name] = j.Status
}

func (p *production) job(name string) *rayv1.RayJob {
	p.t.Helper()
	j := &rayv1.RayJob{}
	if err := p.client.Get(p.t.Context(), p.key(name), j); err != nil {
		p.t.Fatal(err)
	}
	return j
}

// leaveService makes a service that answers with its name. With a next image it is being upgraded to it: the pending cluster is there, and nothing has been
// sent to it.
func (p *production) leaveService(name, next string) {
	p.t.Helper()
	config := func(answer string) string {
		return fmt.Sprintf(`{"applications": [{"name": "app", "import_path": "app:app", "route_prefix": "/", "deployments": [{"name": "Front", "num_replicas": 2, "user_config": {"answer": %q}}]}]}`, answer)
	}
	l := left{Namespace: p.namespace, Kind: "RayService", Parent: name, Cluster: name + "-4bxk9", Image: oldImage, Serves: true, Hash: hashOfKubeRay, Config: config(name)}
	wanted := l
	if next != "" {
		wanted.Image, wanted.Config = next, config(name+" new")
	}
	l.Owner = p.make("service", wanted)
	p.make("service-children", l)
	active := rayv1.RayServiceStatus{
		RayClusterName: l.Cluster, RayClusterStatus: p.leaveCluster(l),
		Applications: map[string]rayv1.AppStatus{"app": {Status: "RUNNING", Deployments: map[string]rayv1.ServeDeploymentStatus{"Front": {Status: "HEALTHY"}}}},
	}
	p.deploy(l.Cluster, l.Config)
	p.eventually(name+" to answer", func() error {
		_, err := p.answer(p.t.Context(), name)
		return err
	})
	now := metav1.Now()
	rs := p.service(name)
	rs.Status = rayv1.RayServiceStatuses{
		ServiceStatus: rayv1.ServiceRunning, ActiveServiceStatus: active, NumServeEndpoints: 2, ObservedGeneration: 1, LastUpdateTime: &now,
		Conditions: []metav1.Condition{
			{Type: rayv1.RayServiceReady, Status: metav1.ConditionTrue, Reason: rayv1.ReasonNonZeroServeEndpoints, LastTransitionTime: now, ObservedGeneration: 1},
			{Type: rayv1.RayServiceUpgradeInProgress, Status: metav1.ConditionFalse, Reason: rayv1.ReasonNoPendingCluster, LastTransitionTime: now, ObservedGeneration: 1},
		},
	}
	if next != "" {
		pending := l
		pending.Cluster, pending.Image, pending.Serves, pending.Hash = name+"-v6d2h", next, false, strings.Replace(hashOfKubeRay, "1R", "2R", 1)
		rs.Status.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: pending.Cluster, RayClusterStatus: p.leaveCluster(pending)}
		rs.Status.Conditions[1].Status, rs.Status.Conditions[1].Reason = metav1.ConditionTrue, rayv1.ReasonBothActivePendingClustersExist
	}
	if err := p.client.Status().Update(p.t.Context(), rs); err != nil {
		p.t.Fatal(err)
	}
}

func (p *production) service(name string) *rayv1.RayService {
	p.t.Helper()
	rs := &rayv1.RayService{}
	if err := p.client.Get(p.t.Context(), p.key(name), rs); err != nil {
		p.t.Fatal(err)
	}
	return rs
}

func (p *production) rayClusters() map[string]string {
	p.t.Helper()
	var list rayv1.RayClusterList
	if err := p.client.List(p.t.Context(), &list, client.InNamespace(p.namespace)); err != nil {
		p.t.Fatal(err)
	}
	all := map[string]string{}
	for _, rc := range list.Items {
		all[rc.Name] = string(rc.UID)
	}
	return all
}

// underRaygate waits for the upgrade that KubeRay began and ends the job that it submitted. Nothing is made for either; the Pods of the old cluster and of that of
// the job go, as they would with KubeRay.
func (p *production) underRaygate() {
	p.t.Helper()
	p.eventually("the end of the upgrade", func() error {
		rs := p.service(upgrading)
		if rs.Status.ActiveServiceStatus.RayClusterName != upgrading+"-v6d2h" || rs.Status.PendingServiceStatus.RayClusterName != "" || !meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceReady) {
			return fmt.Errorf("status %+v", rs.Status)
		}
		answer, err := p.answer(p.t.Context(), upgrading)
		if err != nil || answer != upgrading+" new" {
			return fmt.Errorf("answer %q: %w", answer, err)
		}
		return nil
	})
	if rs := p.service(steady); rs.Status.ActiveServiceStatus.RayClusterName != steady+"-4bxk9" || rs.Status.PendingServiceStatus.RayClusterName != "" {
		p.t.Errorf("the service that was ready: %+v", rs.Status)
	}
	p.looksAlike("under raygate", ending)
	submitter := &batchv1.Job{}
	p.eventually("the submitter of KubeRay to get the label that caches go by", func() error {
		if err := p.client.Get(p.t.Context(), p.key(lasting), submitter); err != nil {
			return err
		}
		if got := submitter.Labels[rayv1.LabelCluster]; got != lasting+"-x2f7q" {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	p.finish(ending)
	p.eventually("the end of the job", func() error {
		if s := p.job(ending).Status; s.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || s.JobStatus != rayv1.JobStatusSucceeded || *s.Succeeded != 1 || *s.Failed != 0 {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	p.only("under raygate", podsOf(upgrading+"-4bxk9", ending+"-x2f7q")...)
	want := map[string]string{}
	for name, uid := range p.clusters {
		if name != upgrading+"-4bxk9" && name != ending+"-x2f7q" {
			want[name] = uid
		}
	}
	if diff := cmp.Diff(want, p.rayClusters()); diff != "" {
		p.t.Errorf("RayClusters (-want +got):\n%s", diff)
	}
	p.looksAlike("under raygate", lasting)
}

func podsOf(clusters ...string) []string {
	var all []string
	for _, c := range clusters {
		all = append(all, c+"-head-k7xzq", c+"-cpu-worker-2qzvw")
	}
	return all
}

// looksAlike compares what KubeRay goes by in the status of a job that runs with what it left.
func (p *production) looksAlike(when, name string) {
	p.t.Helper()
	was, is := p.jobs[name], p.job(name).Status
	for _, s := range []*rayv1.RayJobStatus{&was, &is} { // what is new with every look, and conditions, which are of raygate
		s.RayClusterStatus, s.Conditions, s.Message, s.ObservedGeneration, s.RayJobStatusInfo = rayv1.RayClusterStatus{}, nil, "", 0, rayv1.RayJobStatusInfo{}
		s.StartTime = new(metav1.NewTime(s.StartTime.Truncate(time.Second).UTC()))
		s.JobStatusCheckFailureStartTime = nil // of a dashboard that answers late
	}
	if diff := cmp.Diff(was, is); diff != "" {
		p.t.Errorf("%s %s (-as KubeRay left it +is):\n%s", name, when, diff)
	}
}

// finish lets a job end, and looks how often Ray ran it.
func (p *production) finish(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.work, name+".end"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if runs, err := os.ReadFile(filepath.Join(p.work, name+".runs")); err != nil || string(runs) != "run\n" {
		p.t.Errorf("%s ran %d times: %v", name, bytes.Count(runs, []byte("\n")), err)
	}
}

// kubeRayAgain looks at what KubeRay finds: the job runs on without any operator, and ends; services answer, and have been answering all the time.
func (p *production) kubeRayAgain() {
	p.t.Helper()
	p.looksAlike("after the way back", lasting)
	for name, o := range map[string]client.Object{rayv1.FinalizerRayJob: p.job(lasting), rayv1.FinalizerRayService: p.service(upgrading)} {
		if got := o.GetFinalizers(); !slices.Equal(got, []string{name}) {
			p.t.Errorf("finalizers %v of %s, want that of KubeRay alone", got, o.GetName())
		}
	}
	p.finish(lasting)
	p.eventually("the submitter to end", func() error {
		submitter := &batchv1.Job{}
		if err := p.client.Get(p.t.Context(), p.key(lasting), submitter); err != nil {
			return err
		}
		if submitter.Status.Succeeded != 1 || submitter.Status.Failed != 0 {
			return fmt.Errorf("status %+v", submitter.Status)
		}
		return nil
	})
	for name, want := range map[string][]string{steady: {steady}, upgrading: {upgrading, upgrading + " new"}} {
		r := p.requests[name]
		r.stop()
		var got []string
		for answer := range r.answers {
			got = append(got, answer)
		}
		slices.Sort(got)
		if len(r.lost) > 0 || !slices.Equal(got, want) {
			p.t.Errorf("%s: answers %v, %d requests lost: %s", name, r.answers, len(r.lost), strings.Join(r.lost[:min(len(r.lost), 5)], "\n"))
		}
	}
}
