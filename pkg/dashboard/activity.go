package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Use is a kind of use of a Ray cluster.
type Use string

// The uses of a cluster.
const (
	// UseDriver is a driver that is not one of Ray itself: of a job, of a notebook, or of Ray Client.
	UseDriver Use = "driver"
	// UseJob is a submitted job that waits or runs, whether or not its entrypoint is a driver.
	UseJob Use = "job"
	// UseServe is an application of Ray Serve.
	UseServe Use = "Serve"
	// UseActor is an actor that outlives its driver, and is not one of Ray's libraries.
	UseActor Use = "actor"
	// UseComponent is something that the function in RAY_CLUSTER_ACTIVITY_HOOK reports as active.
	UseComponent Use = "component"
)

// Activity is whether a Ray cluster is in use.
type Activity struct {
	// Use is one of the uses; empty if the cluster is not in use.
	Use Use
	// LastEnd is when the last driver ended, by the clock of the head; zero if none has.
	LastEnd time.Time
}

const callActivity = "Activity"

// Activity implements Client. Drivers are asked for first: without one, only detached actors are left. They include that of each submitted
// job and those of Serve.
func (c *HTTPClient) Activity(ctx context.Context) (Activity, error) {
	a, err := c.components(ctx)
	if err != nil || a.Use != "" {
		return a, err
	}
	serve := false
	for _, state := range livingStates {
		use, controller, err := c.actors(ctx, state)
		if err != nil {
			return Activity{}, err
		}
		if serve = serve || controller; use != "" {
			a.Use = use
			return a, nil
		}
	}
	if !serve {
		return a, nil
	}
	d, err := c.serve(ctx, callActivity, "") // also what was deployed from within Ray
	if err != nil {
		return Activity{}, err
	}
	if len(d.Applications) > 0 {
		a.Use = UseServe
	}
	return a, nil
}

// Words of Ray about a component.
const (
	componentDriver   = "driver"
	componentActive   = "ACTIVE"
	componentInactive = "INACTIVE"
)

// components asks for drivers, and for what the hook of the cluster reports. Something that is neither active nor inactive is an error,
// unless something else is active.
func (c *HTTPClient) components(ctx context.Context) (a Activity, err error) {
	var answer map[string]struct {
		IsActive string   `json:"is_active"`
		Reason   string   `json:"reason"`
		Last     *float64 `json:"last_activity_at"`
	}
	err = c.do(ctx, call{
		name: callActivity, method: http.MethodGet, path: "/api/component_activities", query: "timeout=" + strconv.Itoa(int(c.config.ReadTimeout.Seconds())),
		timeout: c.config.ReadTimeout, limit: c.config.MaxJob,
	}, &answer)
	if err != nil {
		return a, err
	}
	driver, known := answer[componentDriver]
	if !known {
		return a, &Error{Call: callActivity, Kind: ErrMalformed, Code: http.StatusOK, Message: "it does not say whether a driver runs"}
	}
	for name, component := range answer {
		switch component.IsActive {
		case componentActive:
			a.Use = useOf(name, a.Use)
		case componentInactive:
		default:
			err = &Error{Call: callActivity, Kind: ErrUnavailable, Code: http.StatusOK, Message: clip("whether "+name+" is active: "+component.Reason, maxMessage)}
		}
	}
	if at := driver.Last; at != nil && *at > 0 && *at <= float64(lastTime.Unix()) {
		a.LastEnd = time.UnixMilli(int64(*at * 1000)).UTC()
	}
	if a.Use != "" {
		err = nil
	}
	return a, err
}

// useOf returns the use that an active component shows besides another one. A driver comes first.
func useOf(component string, other Use) Use {
	if component == componentDriver {
		return UseDriver
	}
	return cmp.Or(other, UseComponent)
}

// livingStates are those of actors that exist or are about to. Dead ones are not asked for, because there may be any number of them.
var livingStates = []string{"ALIVE", "PENDING_CREATION", "DEPENDENCIES_UNREADY", "RESTARTING"}

// maxActors is the maximum number of actors of one state that are read.
const maxActors = 500

// Namespaces of actors of Ray itself. Those that begin with an underscore are Ray's as well.
const (
	namespaceJobs  = "SUPERVISOR_ACTOR_RAY_NAMESPACE"
	namespaceServe = "serve"
)

// libraryNamespaces are those of detached actors that Ray's libraries leave behind and that do no work.
var libraryNamespaces = []string{
	"AutoscalingCoordinator", "AutoscalingRequester", "ActorLocationTracker", "DataUsageCollectionActor", "ray.dataset", "ray_data_shuffle_disk",
	"llm_serve_telemetry", "llm_batch_telemetry",
}

type actor struct {
	Class     string `json:"class_name"`
	Namespace string `json:"ray_namespace"`
	State     string `json:"state"`
}

// use returns the use that an actor shows; empty for none, and for the actors of Serve, which count by their applications.
func (a actor) use() Use {
	switch {
	case a.State == "DEAD" || a.Namespace == namespaceServe || strings.HasPrefix(a.Namespace, "_") || slices.Contains(libraryNamespaces, a.Namespace):
		return ""
	case a.Namespace == namespaceJobs:
		return UseJob
	}
	return UseActor
}

// actors returns a use that the actors of a state show, and whether Serve has one among them.
func (c *HTTPClient) actors(ctx context.Context, state string) (use Use, serve bool, err error) {
	var answer struct {
		Data struct {
			Result struct {
				Total int             `json:"total"`
				Seen  int             `json:"num_after_truncation"`
				List  json.RawMessage `json:"result"`
			} `json:"result"`
		} `json:"data"`
	}
	query := url.Values{"limit": {strconv.Itoa(maxActors)}, "filter_keys": {"state"}, "filter_predicates": {"="}, "filter_values": {state}}
	err = c.do(ctx, call{
		name: callActivity, method: http.MethodGet, path: "/api/v0/actors", query: query.Encode(), timeout: c.config.ReadTimeout, limit: c.config.MaxJob,
	}, &answer)
	if err != nil {
		return "", false, err
	}
	list := []actor(nil)
	if err := json.Unmarshal(answer.Data.Result.List, &list); err != nil || list == nil {
		return "", false, &Error{Call: callActivity, Kind: ErrMalformed, Code: http.StatusOK, Cause: errors.Join(errors.New("it has no list of actors"), err)}
	}
	for _, a := range list {
		if use := a.use(); use != "" {
			return use, false, nil
		}
		serve = serve || a.Namespace == namespaceServe
	}
	if found := answer.Data.Result; found.Seen < found.Total || len(list) >= maxActors {
		return "", false, &Error{Call: callActivity, Kind: ErrTooLarge, Code: http.StatusOK, Message: fmt.Sprintf("%d of %d actors", len(list), found.Total)}
	}
	return "", serve, nil
}
