package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
)

// A head that is ready with nothing behind its Service: what the API server says of that is a finding, and no failure of the diagnosis.
func TestDiagnoseOfADashboardThatDoesNotAnswer(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	s, ctx, p := allServed()[0], t.Context(), startProcess(t, env.Config, authn.None)
	c := restCaller{base: p.http}
	s.must(t, c, s.method(t, "Create", ""), object{"namespace": "default", s.body: s.example(t, "dark")})
	defer func() {
		s.must(t, c, s.method(t, "Delete", ""), object{"namespace": "default", "name": "dark"})
	}()
	k := s.kubernetes(t, env)
	cluster, err := k.Get(ctx, "dark", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Object["status"] = map[string]any{"head": map[string]any{"serviceName": "dark-head-svc"}, "observedGeneration": int64(1)}
	if _, err := k.UpdateStatus(ctx, cluster, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"ray.io/cluster": "dark", "ray.io/node-type": "head"}
	if _, err := kube.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "dark-head-svc"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Name: "dashboard", Port: 8265}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var pod *corev1.Pod
	await.True(t, "a Pod", func() bool { // the default service account is on its way
		pod, err = kube.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "dark-head", Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "x"}}},
		}, metav1.CreateOptions{})
		return err == nil
	})
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := kube.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the finding", func() bool {
		answer := s.must(t, c, s.method(t, "Diagnose", ""), object{"namespace": "default", "name": "dark"})
		findings, _ := answer["findings"].([]any)
		for _, f := range findings {
			if at(f, "reason") == "DashboardUnreachable" {
				return strings.Contains(at(f, "message").(string), "no endpoints available") && at(f, "object", "name") == "dark-head-svc"
			}
		}
		return false
	})
}
