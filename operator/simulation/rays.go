package simulation

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

var (
	kindService = corev1.SchemeGroupVersion.WithKind("Service").GroupKind()
	kindCluster = rayv1.GroupVersion.WithKind("RayCluster").GroupKind()
)

// clusterObject returns a RayCluster, or an empty one if there is none.
func (w *world) clusterObject(name string) *rayv1.RayCluster {
	if rc, ok := w.store.Find(kindCluster, types.NamespacedName{Namespace: namespace, Name: name}).(*rayv1.RayCluster); ok {
		return rc
	}
	return &rayv1.RayCluster{}
}

// rays contains the instances of Ray, one per running head.
type rays struct {
	world *world
	mu    sync.Mutex
	heads map[types.UID]*ray
	// lost is when a cluster stopped serving.
	lost map[string]time.Time
}

// loses records that a cluster stops serving.
func (r *rays) loses(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost[cluster] = time.Now()
}

// lately reports whether a cluster stopped serving so recently that the operator may not have noticed.
func (r *rays) lately(cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.lost[cluster]
	return known && time.Since(at) < 15*time.Second
}

// lostOneOf reports whether a cluster that is named in the text has no head, or recently lost one, which explains a warning.
func (r *rays) lostOneOf(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for cluster, at := range r.lost {
		if strings.Contains(text, cluster) && (time.Since(at) < memory || r.newest(cluster) == nil) {
			return true
		}
	}
	return false
}

func (r *rays) headStarts(p *corev1.Pod) {
	w := r.world
	var skew time.Duration
	if w.chance("skewed "+p.Name, 0.2) {
		skew = w.between("skew "+p.Name, 0, 10*time.Minute)
		if w.chance("behind "+p.Name, 0.5) {
			skew = -skew
		}
	}
	head := &ray{
		Dashboard: dashboardfake.New(skewed{skew}), world: w, cluster: p.Labels[rayv1.LabelCluster], owner: metav1.GetControllerOf(p).UID, pod: p.UID,
		broken: p.Spec.Containers[0].Image == imageBroken, started: time.Now(), uses: map[string]time.Time{}, saves: map[string]time.Time{}, drains: map[types.UID]time.Time{},
	}
	head.HoldApplications(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heads[p.UID] = head
	w.log("Ray starts on %s", p.Name)
}

func (r *rays) headGone(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	head := r.heads[pod]
	if head == nil {
		return
	}
	delete(r.heads, pod)
	r.lost[head.cluster] = time.Now()
	head.mu.Lock()
	defer head.mu.Unlock()
	head.over = true
	r.world.log("Ray of %s is gone", head.cluster)
	r.world.after(0, "record of "+head.cluster, func() { r.world.watch.noteUnrecorded(head) })
}

// of returns the instance on a cluster; nil if there is none.
func (r *rays) of(cluster string) *ray {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest(cluster)
}

// ownedBy returns the instance on a head Pod that a RayCluster controls; nil if there is none.
func (r *rays) ownedBy(cluster types.UID) *ray {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newestOf(func(head *ray) bool { return head.owner == cluster })
}

// newest is of for callers that hold the lock.
func (r *rays) newest(cluster string) *ray {
	return r.newestOf(func(head *ray) bool { return head.cluster == cluster })
}

func (r *rays) newestOf(is func(*ray) bool) *ray {
	var found *ray
	for _, head := range r.heads {
		if is(head) && (found == nil || head.pod > found.pod) {
			found = head
		}
	}
	return found
}

// serve reports whether the instance on a cluster runs all its applications.
func (r *rays) serve(cluster string) bool {
	head := r.of(cluster)
	return head != nil && head.serves()
}

// on returns the instance on a head Pod; nil if there is none.
func (r *rays) on(pod types.UID) *ray {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heads[pod]
}

// behind returns the instance on the cluster that a head Service selects; nil if there is none.
func (r *rays) behind(service string) *ray {
	return r.of(r.world.selectedBy(service))
}

// selectedBy returns the cluster that a Service selects; empty for none.
func (w *world) selectedBy(service string) string {
	svc, ok := w.store.Find(kindService, types.NamespacedName{Namespace: namespace, Name: service}).(*corev1.Service)
	if !ok {
		return ""
	}
	return svc.Spec.Selector[rayv1.LabelCluster]
}
