package v1

import (
	"cmp"

	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// Options of Register. All are required but Clock.
type Options struct {
	Clusters, Jobs, Services *resource.Resource
	// Templates keeps compute templates.
	Templates *Templates
	// Events are part of the answers to get calls.
	Events *Events
	// Dashboards leads to the clusters that jobs are submitted to.
	Dashboards *dashboardproxy.Proxy
	// Views keeps encoded forms of objects.
	Views *encoding.Cache
	// Clock is the source of creation times. Nil means the real one.
	Clock clock.PassiveClock
}

// Register registers the services of V1. ImageTemplateService is not among them: KubeRay's server never had it.
func Register(server grpc.ServiceRegistrar, o Options) {
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
	kuberay.RegisterClusterServiceServer(server, &clusterServer{kind: kind[rayv1.RayCluster, *kuberay.Cluster]{o, o.Clusters, modelv1.ClusterFromRay}})
	kuberay.RegisterComputeTemplateServiceServer(server, &templateServer{Options: o})
	kuberay.RegisterRayJobServiceServer(server, &jobServer{kind: kind[rayv1.RayJob, *kuberay.RayJob]{o, o.Jobs, modelv1.JobFromRay}})
	kuberay.RegisterRayServeServiceServer(server, &serveServer{kind: kind[rayv1.RayService, *kuberay.RayService]{o, o.Services, modelv1.ServiceFromRay}})
	kuberay.RegisterRayJobSubmissionServiceServer(server, &submissionServer{Options: o})
}
