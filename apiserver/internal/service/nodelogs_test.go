package service_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeLogsOfACluster(t *testing.T) {
	pod := func(cluster string) corev1.Pod {
		return corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "demo-head", Labels: map[string]string{"ray.io/cluster": cluster}},
			Status: corev1.PodStatus{PodIP: "127.0.0.1"}, // that of the simulated node
		}
	}
	for name, tc := range map[string]struct {
		query, cluster string
		pod            any
		denied         string
		code           int
		want           string
	}{
		"of the head":               {code: 200, want: "(raylet) a simulated node"},
		"of an address":             {query: "?node=127.0.0.1&file=raylet.out&tailLines=10", code: 200, want: "(raylet) "},
		"of a Pod":                  {query: "?node=demo-head", pod: pod("demo"), code: 200, want: "(raylet) "},
		"after an offset":           {query: "?offset=9", code: 200, want: "a simulated node"},
		"of a Pod of another":       {query: "?node=demo-head", pod: pod("other"), code: 404, want: "RayCluster demo has no node demo-head that runs; it has the addresses 127.0.0.1"},
		"of no Pod":                 {query: "?node=gone", code: 404, want: "no node gone"},
		"of a Pod that is secret":   {query: "?node=demo-head", pod: "forbidden", code: 403, want: "FORBIDDEN"},
		"of another file":           {query: "?file=../passwd", code: 404, want: "the node has no log ../passwd; it has raylet.out"},
		"without the right":         {denied: "get services/proxy", code: 403, want: "FORBIDDEN"},
		"of a missing cluster":      {cluster: "none", code: 404, want: "NOT_FOUND"},
		"with an offset and a tail": {query: "?offset=9&tailLines=1", code: 400, want: "tail_lines"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.denied[tc.denied] = true
			w.kueue = map[string]any{"pods/demo-head": tc.pod}
			cluster := tc.cluster
			if cluster == "" {
				cluster = "demo"
			}
			code, _, body, err := w.send(t, "GET", "clusters/"+cluster+"/logs"+tc.query, "")
			if err != nil || code != tc.code || !strings.Contains(body, tc.want) || code == 200 && !strings.HasPrefix(body, tc.want) {
				t.Errorf("got %d %v: %s", code, err, body)
			}
		})
	}
}
