package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// prometheus answers that half of the requests to clusters of the service bad fail, and none of those to others.
func prometheus(w http.ResponseWriter, r *http.Request) {
	value := 0.0
	if strings.Contains(r.FormValue("query"), `ray_io_cluster="bad-`) {
		value = 0.5
	}
	_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"%g"]}]}}`, value)
}

// A new cluster whose requests fail is given up at its share of the traffic, and another one is confirmed, without an action of the user. gRPC requests
// follow.
func TestCanaryAnalysis(t *testing.T) {
	t.Parallel()
	c := installGatewayAPI(t)
	ns := namespace(t)
	for name, want := range map[string]string{"bad": "0 10 0", "good": "0 10 60 100"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDataPlane(t, c, client.ObjectKey{Namespace: ns, Name: name})
			strategy := []string{"upgradeStrategy:", "  type: NewClusterWithIncrementalUpgrade", "  clusterUpgradeOptions: {maxSurgePercent: 100, stepSizePercent: 50, intervalSeconds: 2, gatewayClassName: fake}"}
			rest(t, "POST", servicesOf(ns), "application/yaml", rayService(name, ns, "one", strategy, []string{"enableInTreeAutoscaling: true"})).want(t, 201)
			first := awaitService(t, ns, name, "is ready", isServing)
			d.takeShares()
			eventually(t, "the upgrade", func(ctx context.Context) error {
				rs := &rayv1.RayService{}
				if err := product.client.Get(ctx, client.ObjectKeyFromObject(first), rs); err != nil {
					return err
				}
				metav1.SetMetaDataAnnotation(&rs.ObjectMeta, rayv1.AnnotationCanaryWeight, "10")
				metav1.SetMetaDataAnnotation(&rs.ObjectMeta, rayv1.AnnotationCanaryAnalysis, "errorRate<0.05,for=1m")
				newImage("2.53.0")(&rs.Spec)
				if name == "good" {
					metav1.SetMetaDataAnnotation(&rs.ObjectMeta, rayv1.AnnotationGRPCRoute, "true")
					rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{
						{Name: "dashboard", ContainerPort: 8265}, {Name: "serve", ContainerPort: 8000}, {Name: rayv1.PortServeGRPC, ContainerPort: 9000},
					}
				}
				return product.client.Update(ctx, rs)
			})
			running := awaitService(t, ns, name, "is judged", func(rs *rayv1.RayService) bool {
				return meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceCanaryAnalysis) != nil
			})
			if c := meta.FindStatusCondition(running.Status.Conditions, rayv1.RayServiceCanaryAnalysis); c.Status != metav1.ConditionUnknown || c.Reason != rayv1.ReasonAnalysisRunning {
				t.Errorf("before a minute is over: %+v", c)
			}
			last := awaitService(t, ns, name, "is at its end", isServing)
			aborted := meta.IsStatusConditionTrue(last.Status.Conditions, rayv1.RayServiceUpgradeAborted)
			if bad := name == "bad"; aborted != bad || (activeOf(last) == activeOf(first)) != bad {
				t.Errorf("%s was used, now %s is: %+v", activeOf(first), activeOf(last), last.Status.Conditions)
			}
			if got := d.takeShares(); got != want {
				t.Errorf("the new cluster had %s percent of the traffic, want %s", got, want)
			}
			if name == "good" {
				grpcRouteFollows(t, c, last)
			}
		})
	}
}

// grpcRouteFollows demands that gRPC requests go to the active cluster, as long as the user wants that.
func grpcRouteFollows(t *testing.T, c client.Client, rs *rayv1.RayService) {
	t.Helper()
	key := client.ObjectKey{Namespace: rs.Namespace, Name: rs.Name + "-grpcroute"}
	eventually(t, "the GRPCRoute", func(ctx context.Context) error {
		route := &gatewayv1.GRPCRoute{}
		if err := c.Get(ctx, key, route); err != nil {
			return err
		}
		backends := route.Spec.Rules[0].BackendRefs
		if len(backends) != 1 || string(backends[0].Name) != activeOf(rs)+"-serve-svc" || *backends[0].Port != 9000 || *backends[0].Weight != 100 || !metav1.IsControlledBy(route, rs) {
			return fmt.Errorf("%+v", route)
		}
		return nil
	})
	if err := product.client.Patch(t.Context(), rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+rayv1.AnnotationGRPCRoute+`":null}}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the GRPCRoute", func(ctx context.Context) error {
		gateway := &gatewayv1.Gateway{}
		if err := c.Get(ctx, key, &gatewayv1.GRPCRoute{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading the route: %w", err)
		}
		if err := c.Get(ctx, client.ObjectKey{Namespace: rs.Namespace, Name: rs.Name + "-gateway"}, gateway); err != nil || len(gateway.Spec.Listeners) != 1 {
			return fmt.Errorf("listeners %+v: %w", gateway.Spec.Listeners, err)
		}
		return nil
	})
}
