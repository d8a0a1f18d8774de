package deviceadmission_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// hami stands in for the webhook of HAMi v2.10.0, which does not run here: what it does to a Pod that it admits, of the families in the golden Pods. Unlike
// ours it takes a zero for a request, writes limits and seldom requests, and adds a variable for the priority whether there is one or not.
type hami struct{ pod *corev1.Pod }

// complete changes the Pod.
func (h hami) complete() {
	if s := h.pod.Spec.SchedulerName; s != "" && s != "default-scheduler" && s != "hami-scheduler" {
		return
	}
	found := false
	for _, list := range [][]corev1.Container{h.pod.Spec.InitContainers, h.pod.Spec.Containers} {
		for i := range list {
			c := &list[i]
			for _, family := range []func(*corev1.Container) bool{h.nvidia, h.mthreads, h.iluvatar, h.kunlun, h.metax, h.ascend} {
				if family(c) {
					found = true
				}
			}
		}
	}
	if found {
		h.pod.Spec.SchedulerName = "hami-scheduler"
	}
}

func asksOf(c *corev1.Container, name string) (n int64, ok bool) {
	q, ok := c.Resources.Limits[corev1.ResourceName(name)]
	return q.Value(), ok
}

func limit(c *corev1.Container, name string, n int64) {
	if c.Resources.Limits == nil {
		c.Resources.Limits = corev1.ResourceList{}
	}
	c.Resources.Limits[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
}

func (h hami) nvidia(c *corev1.Container) bool {
	if n, ok := asksOf(c, "nvidia.com/priority"); ok {
		c.Env = append(c.Env, corev1.EnvVar{Name: "CUDA_TASK_PRIORITY", Value: fmt.Sprint(n)})
	}
	_, counted := asksOf(c, "nvidia.com/gpu")
	_, memory := asksOf(c, "nvidia.com/gpumem")
	percent, share := asksOf(c, "nvidia.com/gpumem-percentage")
	_, cores := asksOf(c, "nvidia.com/gpucores")
	if !counted && (memory || share || cores) {
		limit(c, "nvidia.com/gpu", 1)
		counted = true
	}
	if counted && !cores && (share && percent == 100 || !share && !memory) {
		limit(c, "nvidia.com/gpucores", 100)
	}
	return counted
}

func (h hami) mthreads(c *corev1.Container) bool {
	n, ok := asksOf(c, "mthreads.com/vgpu")
	_, memory := asksOf(c, "mthreads.com/sgpu-memory")
	switch {
	case n > 1:
		limit(c, "mthreads.com/sgpu-core", 16*n)
		limit(c, "mthreads.com/sgpu-memory", 96*n)
		h.annotate("mthreads.com/request-gpu-num", fmt.Sprint(n))
	case ok && !memory:
		limit(c, "mthreads.com/sgpu-core", 16)
		limit(c, "mthreads.com/sgpu-memory", 96)
	}
	return ok
}

func (h hami) iluvatar(c *corev1.Container) bool {
	n, ok := asksOf(c, "iluvatar.ai/MR-V100-vgpu")
	if n > 1 {
		limit(c, "iluvatar.ai/MR-V100.vCore", 100*n)
	}
	named := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "SOL_CONTINER_NAME" })
	if ok && !named {
		c.Env = append(c.Env, corev1.EnvVar{Name: "SOL_CONTINER_NAME", Value: c.Name})
	}
	return ok
}

func (h hami) kunlun(c *corev1.Container) bool {
	_, ok := asksOf(c, "kunlunxin.com/vxpu")
	h.round(c, "kunlunxin.com/vxpu-memory", 0, 24576, 49152, 98304)
	return ok
}

func (h hami) metax(c *corev1.Container) bool {
	_, ok := asksOf(c, "metax-tech.com/sgpu")
	if ok && h.pod.Annotations["metax-tech.com/sgpu-app-class"] != "online" && h.pod.Annotations["metax-tech.com/sgpu-qos-policy"] == "" {
		h.annotate("metax-tech.com/sgpu-qos-policy", "best-effort")
	}
	return ok
}

func (h hami) ascend(c *corev1.Container) bool {
	_, ok := asksOf(c, "huawei.com/Ascend910B3")
	if ok {
		h.round(c, "huawei.com/Ascend910B3-memory", 65536, 16384, 32768, 65536)
	}
	return ok
}

// round makes an amount the next size, in limits and requests; absent is what there is without one.
func (h hami) round(c *corev1.Container, name string, absent int64, sizes ...int64) {
	n, ok := asksOf(c, name)
	if !ok {
		n = absent
	}
	if n == 0 {
		return
	}
	at, _ := slices.BinarySearch(sizes, n)
	limit(c, name, sizes[at])
	if c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	c.Resources.Requests[corev1.ResourceName(name)] = c.Resources.Limits[corev1.ResourceName(name)]
}

func (h hami) annotate(key, value string) {
	if h.pod.Annotations == nil {
		h.pod.Annotations = map[string]string{}
	}
	h.pod.Annotations[key] = value
}

// ServeHTTP answers the API server with the difference between the request and what became of it.
func (hami) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var pod corev1.Pod
	if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
		http.Error(w, "no Pod", http.StatusBadRequest)
		return
	}
	hami{&pod}.complete()
	after, _ := json.Marshal(&pod)
	ops, err := jsonpatch.CreatePatch(review.Request.Object.Raw, after)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ops = slices.DeleteFunc(ops, func(op jsonpatch.Operation) bool { return strings.HasPrefix(op.Path, "/status") })
	patch, _ := json.Marshal(ops)
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch), Patch: patch}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}
