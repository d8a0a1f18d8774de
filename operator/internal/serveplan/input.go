package serveplan

import (
	"maps"
	"slices"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// Input is what a Plan depends on.
type Input struct {
	// Service is the RayService as stored. It is not changed.
	Service *rayv1.RayService
	// Now is the time.
	Now time.Time
	// Invalid is what is wrong with the object, in words; empty if nothing is.
	Invalid string
	// Strategy is how a change of the cluster reaches users.
	Strategy Strategy
	// Suffix returns what is random in the name of a cluster.
	Suffix func() string
	// Clusters are the clusters that belong to the service, used or not, by name.
	Clusters map[string]Cluster
	// HeadService and ServeService are the names of the clusters to which the Services of the service lead; empty while there are none.
	HeadService, ServeService string
	// Children is the number of Services, Gateways and HTTPRoutes of the service that are left. It is known while it is being suspended.
	Children int
	// Endpoints is the number of ready endpoints of the serve Services.
	Endpoints int32
	// Routing is what was observed of the Gateway API objects, for the strategy with steps.
	Routing Routing
	// Config is the parsed spec.serveConfigV2, and ConfigError what is wrong with it.
	Config      Config
	ConfigError string
	// Refusals are what the API server refuses of what an earlier plan asked for.
	Refusals []string
}

// Cluster is what was observed of a RayCluster.
type Cluster struct {
	// Deleting says that it is on its way out, and Made when it was made.
	Deleting bool
	Made     time.Time
	// Match says how its spec compares with the one that is asked for.
	Match rayservice.Match
	// Resize says that the RayService has asked for other numbers of workers since they were last brought to it.
	Resize bool
	// Rebaseline says that its stored hash is that of another operator and has to be written anew.
	Rebaseline bool
	// HeadReady says that its head Pod is ready.
	HeadReady bool
	// Pods is the number of Pods that can take requests: ready, and with the label that the Services select.
	Pods int
	// ServingSince is since when there have been such Pods, as far as this process knows; zero while there are none.
	ServingSince time.Time
	// DeleteAfter is when it is to be deleted; zero if nobody has decided so.
	DeleteAfter time.Time
	// Status is a copy of its status.
	Status rayv1.RayClusterStatus
	// Serve is what Ray Serve on it says.
	Serve Serve
}

// Serve is the last answer of Ray Serve. The zero value means that it was not asked yet.
type Serve struct {
	// AskedAt is when the question was sent that the fields below answer; zero for none.
	AskedAt time.Time
	// Failure is why Serve could not be asked the last time, and FailingSince since when; empty and zero while it answers.
	Failure      string
	FailingSince time.Time
	// Busy says that a configuration is under way to it, or that the answer is older than the last one.
	Busy bool
	// Applications by name.
	Applications map[string]rayv1.AppStatus
	// Deployed says that it runs the configuration that the spec asks for, as far as it tells.
	Deployed bool
	// Capacity is the target capacity in percent; 100 for none.
	Capacity int32
	// Settled says that every deployment has the replicas that it is to have.
	Settled bool
	// Text is the text of the last configuration from this process that Ray accepted; empty for none. Known says that Ray has no later one.
	Text  string
	Known bool
	// Refused is why Ray does not accept the configuration; empty if it does or nobody knows.
	Refused string
}

// current reports whether the answer is good enough to decide by.
func (s Serve) current() bool { return !s.AskedAt.IsZero() && s.Failure == "" && !s.Busy }

// running reports whether there are applications and all of them serve.
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

// Routing is what was observed of the Gateway and the HTTPRoute.
type Routing struct {
	// Missing says that the Gateway API is not served.
	Missing bool
	// Left says that there is a Gateway or an HTTPRoute of the service.
	Left bool
	// GatewayState and RouteState are those of the objects; zero for none, so that Weights are nil without an HTTPRoute.
	rayservice.GatewayState
	rayservice.RouteState
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
