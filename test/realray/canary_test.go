package realray

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var (
	selected = regexp.MustCompile(`namespace="([^"]+)",ray_io_cluster="([^"]+)",application!=""`)
	counters = regexp.MustCompile(`(?m)^ray_serve_num_http_requests_total\{(.*)\} (\S+)$`)
)

// prometheus answers the operator's query for the error rate of a cluster by the counters that Ray exports in its Pods now. All requests to a cluster
// of the tests count, since its start.
func prometheus(w http.ResponseWriter, r *http.Request) {
	if cluster := selected.FindStringSubmatch(r.FormValue("query")); cluster != nil {
		all, failed, err := requests(r.Context(), cluster[1], cluster[2])
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		case all == 0:
			_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		default:
			_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"%g"]}]}}`, failed/all)
		}
		return
	}
	http.Error(w, "which cluster?", http.StatusBadRequest)
}

// requests counts the requests to applications of a cluster, and those of them that failed.
func requests(ctx context.Context, namespace, cluster string) (all, failed float64, err error) {
	var pods corev1.PodList
	if err := product.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{rayv1.LabelCluster: cluster}); err != nil {
		return 0, 0, err
	}
	for _, p := range pods.Items {
		exported, err := send(ctx, "GET", fmt.Sprintf("http://%s:8080/metrics", p.Status.PodIP), nil)
		if err != nil {
			return 0, 0, err
		}
		for _, series := range counters.FindAllSubmatch(exported.body, -1) {
			labels := string(series[1])
			n, err := strconv.ParseFloat(string(series[2]), 64)
			if err != nil {
				return 0, 0, err
			}
			if !strings.Contains(labels, `application="hello"`) { // health checks have none
				continue
			}
			all += n
			if strings.Contains(labels, `status_code="5`) {
				failed += n
			}
		}
	}
	return all, failed, nil
}

// canaryFails has a service get a release whose requests fail: it is given up at its share of the traffic, without an action of the user.
func (w *world) canaryFails(svc *rayv1.RayService, url string) {
	w.t.Helper()
	before := w.serviceReady(svc)
	load := w.load(url)
	steps := w.watchSteps(svc.Name, load)
	w.update(svc, func() {
		metav1.SetMetaDataAnnotation(&svc.ObjectMeta, rayv1.AnnotationCanaryWeight, "20")
		metav1.SetMetaDataAnnotation(&svc.ObjectMeta, rayv1.AnnotationCanaryAnalysis, "errorRate<0.05,for=5m")
		release(&svc.Spec.RayClusterSpec, "broken")
	})
	w.eventually("the canary is given up", func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(svc), svc); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(svc.Status.Conditions, rayv1.RayServiceUpgradeAborted); c == nil || !strings.Contains(c.Message, "errorRate is") {
			return errors.Join(errNotYet, fmt.Errorf("conditions %+v", svc.Status.Conditions))
		}
		return nil
	})
	load.waitFor(w, said{"good morning", "two"})
	if after := w.serviceReady(svc); after != before {
		w.t.Errorf("%s was used, now %s is", before, after)
	}
	steps.stop()
	if got := strings.Join(steps.shares, " "); got != "0 20 0" {
		w.t.Errorf("the new cluster had %s percent of the traffic, want 0 20 0", got)
	}
	if _, failures := load.stop(); len(failures) == 0 {
		w.t.Error("no request reached the release that fails")
	}
}
