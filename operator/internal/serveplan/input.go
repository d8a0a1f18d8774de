package serveplan

import (
	"maps"
	"slices"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// Input contains everything that a Plan depends on.
type Input struct {
	// Service is the stored RayService. It is not modified.
	Service *rayv1.RayService
	// Now is the current time.
	Now time.Time
	// Invalid summarizes the broken rules; empty for a valid object.
	Invalid string
	// Strategy is the upgrade strategy.
	Strategy Strategy
	// Suffix returns the random part of a cluster name.
	Suffix func() string
	// Clusters are the clusters of the service by name, including unused ones.
	Clusters map[string]Cluster
	// HeadService and ServeService are the names of the clusters that the Services of the service select; empty without Services.
	HeadService, ServeService string
	// Children is the number of remaining Services, Gateways and HTTPRoutes of the service. It is set only during a suspension.
	Children int
	// Endpoints is the number of ready endpoints of the serve Services.
	Endpoints int32
	// Routing is the observed state of the Gateway API objects, for incremental upgrades.
	Routing Routing
	// Config is the parsed spec.serveConfigV2, and ConfigError its error.
	Config      Config
	ConfigError string
	// Refusals are rejected writes of an earlier plan.
	Refusals []string
}

// Cluster is the observed state of a RayCluster.
type Cluster struct {
	// Deleting means that the cluster is being deleted. Made is its creation time.
	Deleting bool
	Made     time.Time
	// Match is the result of the comparison of its spec with the wanted one.
	Match rayservice.Match
	// Resize means that the RayService has changed numbers of workers that are not applied yet.
	Resize bool
	// Rebaseline means that another operator wrote its stored hash, which must be rewritten.
	Rebaseline bool
	// HeadReady means that its head Pod is ready.
	HeadReady bool
	// Pods is the number of Pods that can serve requests: ready, and with the label that the Services select.
	Pods int
	// ServingSince is since when this process has seen such Pods; zero while there are none.
	ServingSince time.Time
	// DeleteAfter is when the cluster is deleted; zero if no deletion is scheduled.
	DeleteAfter time.Time
	// Status is a copy of the cluster's status.
	Status rayv1.RayClusterStatus
	// Serve is the state of Ray Serve on the cluster, and Measured are values of its requests.
	Serve    Serve
	Measured Measured
}

// Serve is the last answer of Ray Serve. The zero value means that it has not been asked yet.
type Serve struct {
	// AskedAt is when the request for the fields below was sent; zero for none.
	AskedAt time.Time
	// Failure is the error of the last request, and FailingSince the time of the first consecutive failure; empty and zero while
	// Serve answers.
	Failure      string
	FailingSince time.Time
	// Busy means that a configuration is being sent, or that the answer is older than the last one sent.
	Busy bool
	// Applications by name.
	Applications map[string]rayv1.AppStatus
	// Deployed means that Serve reports the configuration in the spec.
	Deployed bool
	// Capacity is the target capacity in percent; 100 if none is set.
	Capacity int32
	// Settled means that every deployment has its target number of replicas.
	Settled bool
	// Text is the last configuration from this process that Ray accepted; empty for none. Known means that Ray has no later one.
	Text  string
	Known bool
	// Refused is why Ray rejects the configuration; empty if it accepts it or the result is unknown.
	Refused string
}

// current reports whether decisions may use the answer.
func (s Serve) current() bool { return !s.AskedAt.IsZero() && s.Failure == "" && !s.Busy }

// running reports whether applications exist and all of them serve.
func (s Serve) running() bool {
	if len(s.Applications) == 0 {
		return false
	}
	for _, a := range s.Applications {
		if a.Status != rayv1.ApplicationRunning {
			return false
		}
	}
	return true
}

// Routing is the observed state of the Gateway and the HTTPRoute.
type Routing struct {
	// Missing means that the Gateway API is not served.
	Missing bool
	// Left means that a Gateway or HTTPRoute of the service exists.
	Left bool
	// GatewayState and RouteState describe the objects. They are zero without an object, so Weights are nil without an HTTPRoute.
	rayservice.GatewayState
	rayservice.RouteState
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
