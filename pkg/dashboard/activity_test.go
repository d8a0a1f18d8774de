package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The answers are those of Ray 2.60.
func TestActivity(t *testing.T) {
	component := func(name, state string) string {
		return fmt.Sprintf(`%q:{"is_active":%q,"reason":"because","timestamp":1795692631.1,"last_activity_at":1795692600.5}`, name, state)
	}
	inactive := "{" + component("driver", "INACTIVE") + "}"
	actors := func(list ...string) string {
		return fmt.Sprintf(`{"result":true,"msg":"","data":{"result":{"total":%[1]d,"num_after_truncation":%[1]d,"num_filtered":%[1]d,"result":[%[2]s],"partial_failure_warning":"","warnings":null}}}`,
			len(list), strings.Join(list, ","))
	}
	one := func(namespace, state string) string {
		return fmt.Sprintf(`{"actor_id":"4f","class_name":"A","state":%q,"job_id":"01000000","name":"a","node_id":null,"pid":0,"ray_namespace":%q}`, state, namespace)
	}
	for name, tc := range map[string]struct {
		components, actors, serve string
		state                     string // of the actors, ALIVE if empty
		want                      Use
		wantFailed                error
	}{
		"nothing":                     {components: inactive},
		"a driver":                    {components: "{" + component("driver", "ACTIVE") + "}", want: UseDriver},
		"a notebook":                  {components: "{" + component("driver", "INACTIVE") + "," + component("notebook", "ACTIVE") + "}", want: UseComponent},
		"a hook that fails":           {components: "{" + component("driver", "INACTIVE") + "," + component("external_component", "ERROR") + "}", wantFailed: ErrUnavailable},
		"a driver and a hook":         {components: "{" + component("driver", "ACTIVE") + "," + component("external_component", "ERROR") + "}", want: UseDriver},
		"drivers that are not known":  {components: "{" + component("driver", "ERROR") + "}", wantFailed: ErrUnavailable},
		"no word of drivers":          {components: "{" + component("notebook", "INACTIVE") + "}", wantFailed: ErrMalformed},
		"a Status of Kubernetes":      {components: kubeStatus, wantFailed: ErrMalformed},
		"a job":                       {components: inactive, actors: actors(one("SUPERVISOR_ACTOR_RAY_NAMESPACE", "ALIVE")), want: UseJob},
		"a job that waits":            {components: inactive, state: "PENDING_CREATION", actors: actors(one("SUPERVISOR_ACTOR_RAY_NAMESPACE", "PENDING_CREATION")), want: UseJob},
		"a detached actor":            {components: inactive, actors: actors(one("_dataset_stats_actor", "ALIVE"), one("mine", "ALIVE")), want: UseActor},
		"an actor that is restarted":  {components: inactive, state: "RESTARTING", actors: actors(one("", "RESTARTING")), want: UseActor},
		"what libraries leave behind": {components: inactive, actors: actors(one("_train_state_actor", "ALIVE"), one("AutoscalingCoordinator", "ALIVE"))},
		"a filter without effect":     {components: inactive, actors: actors(one("mine", "DEAD"))},
		"Serve":                       {components: inactive, actors: actors(one("serve", "ALIVE")), serve: exampleServe, want: UseServe},
		"Serve without applications":  {components: inactive, actors: actors(one("serve", "ALIVE")), serve: notStarted},
		"Serve that does not answer":  {components: inactive, actors: actors(one("serve", "ALIVE")), wantFailed: ErrUnavailable},
		"actors that are left out":    {components: inactive, actors: strings.Replace(actors(one("serve", "ALIVE")), `"total":1`, `"total":9`, 1), serve: notStarted, wantFailed: ErrTooLarge},
		"no list of actors":           {components: inactive, actors: `{"result":false,"msg":"x","data":{"result":null}}`, wantFailed: ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.state == "" {
				tc.state = "ALIVE"
			}
			c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				switch {
				case r.URL.Path == "/api/component_activities":
					answer(200, jsonType, tc.components)(w, r)
				case r.URL.Path == "/api/v0/actors" && q.Get("filter_keys") == "state" && q.Get("filter_values") == tc.state && tc.actors != "":
					answer(200, jsonType, tc.actors)(w, r)
				case r.URL.Path == "/api/v0/actors":
					answer(200, jsonType, actors())(w, r)
				case r.URL.Path == servePath && q.Get("api_type") == "" && tc.serve != "":
					answer(200, jsonType, tc.serve)(w, r)
				default:
					answer(503, plain, "no answer")(w, r)
				}
			})
			got, err := c.Activity(t.Context())
			if !errors.Is(err, tc.wantFailed) || got.Use != tc.want {
				t.Fatalf("%+v, %v; want %q, %v", got, err, tc.want, tc.wantFailed)
			}
			if last := time.UnixMilli(1795692600500); err == nil && !got.LastEnd.Equal(last) {
				t.Errorf("the last driver ended at %s, want %s", got.LastEnd, last)
			}
		})
	}
}
