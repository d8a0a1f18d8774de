package scripts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// service is a RayService in the middle of an upgrade.
func service(activeCapacity, activeTraffic, pendingCapacity, pendingTraffic any) object {
	return object{"status": object{
		"conditions":          []object{{"type": "UpgradeInProgress", "status": "True"}},
		"activeServiceStatus": object{"rayClusterName": "old", "targetCapacity": activeCapacity, "trafficRoutedPercent": activeTraffic},
		"pendingServiceStatus": object{
			"rayClusterName": "new", "targetCapacity": pendingCapacity, "trafficRoutedPercent": pendingTraffic, "lastTrafficMigratedTime": "2026-01-01T00:00:00Z",
			"applicationStatuses": object{"b": object{"status": "RUNNING"}, "a": object{"status": "RUNNING"}},
		},
	}}
}

func TestSampleOfService(t *testing.T) {
	s := scriptOf(t, "timeline")
	for name, tc := range map[string]struct {
		service object
		want    string
	}{
		"new":                      {object{}, `- / -`},
		"serves":                   {object{"status": object{"activeServiceStatus": object{"rayClusterName": "a"}, "pendingServiceStatus": object{}}}, `a 100 100 / -`},
		"begins":                   {object{"status": object{"pendingServiceStatus": object{"rayClusterName": "a", "targetCapacity": 100}}}, `- / a 100 0`},
		"shares":                   {service(60, 70, 40, 30), `old 60 70 / new 40 30`},
		"shares that are left out": {service(nil, nil, nil, nil), `old 100 100 / new 0 0`},
		"nothing left":             {service(0, 0, 100, 100), `old 0 0 / new 100 100`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.get("[sampleOf(service, 5)].map((x) => [x.active, x.pending].map((c) => (c ? [c.name, c.capacity, c.traffic].join(' ') : '-')).join(' / '))[0]", object{"service": tc.service})
			if got != tc.want {
				t.Errorf("the sample is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTimelineGrowsByWhatIsNew(t *testing.T) {
	s := scriptOf(t, "timeline")
	got := s.get("[[100, 100, 0, 0], [100, 100, 0, 0], [100, 100, 40, 0], [100, 90, 40, 10], [100, 90, 40, 10]].reduce((all, [a, b, c, d], i) => withSample(all, sampleOf(make(a, b, c, d), i)), []).map((x) => x.time)",
		object{"one": service(1, 2, 3, 4)}, "var make = (a, b, c, d) => { const s = JSON.parse(JSON.stringify(one)); Object.assign(s.status.activeServiceStatus, {targetCapacity: a, trafficRoutedPercent: b}); Object.assign(s.status.pendingServiceStatus, {targetCapacity: c, trafficRoutedPercent: d}); return s; };")
	if diff := cmp.Diff(any([]any{0.0, 2.0, 3.0}), got); diff != "" {
		t.Errorf("times of samples (-want +got):\n%s", diff)
	}
	if n := s.get("Array.from({length: 1100}, (_, i) => i).reduce((all, i) => withSample(all, sampleOf(make(i, 0, 0, 0), i)), []).length", nil); n != 1000.0 {
		t.Errorf("%v samples are kept, want 1000", n)
	}
}

func TestSamplesOfEvents(t *testing.T) {
	s := scriptOf(t, "timeline")
	event := func(time, message string) object { return object{"lastTime": time, "message": message} }
	events := []object{ // the newest first, as the API has them
		event("2026-01-01T00:00:40Z", "Set the target capacity of RayCluster old to 60 percent"),
		event("2026-01-01T00:00:30Z", "Set the target capacity of RayCluster new to 40 percent"),
		event("2026-01-01T00:00:20Z", "Set the target capacity of RayCluster older to 0 percent"),
		event("2026-01-01T00:00:10Z", "Sent serveConfigV2 to Ray Serve on RayCluster new"),
		event("no time", "Set the target capacity of RayCluster new to 20 percent"),
		event("2026-01-01T01:00:00Z", "Set the target capacity of RayCluster new to 80 percent"), // since the page was opened
	}
	args := object{"events": events, "one": service(60, 80, 40, 20)}
	got := s.get("samplesBefore(events, sampleOf(one, Date.parse('2026-01-01T00:01:00Z'))).map((x) => [new Date(x.time).getUTCSeconds(), x.active.capacity, x.pending.capacity, x.pending.traffic])", args)
	if diff := cmp.Diff(any([]any{[]any{30.0, 100.0, 40.0, nil}, []any{40.0, 60.0, 40.0, nil}}), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSeries(t *testing.T) {
	s := scriptOf(t, "timeline")
	s.run(`
		var at = (time, capacity, traffic) => ({time, active: {name: 'old', capacity: 100, traffic: null}, pending: {name: 'new', capacity, traffic}});
		var samples = [at(0, 0, null), at(50, 50, 0), {time: 75, active: {name: 'new', capacity: 100, traffic: 100}, pending: null}];
		var area = {from: 0, to: 100, width: 200, height: 100};`)
	for expression, want := range map[string]any{
		"clustersOf(samples)":                                         []any{"old", "new"},
		"seriesOf(samples, 'new', 'capacity', area)":                  []any{[]any{[]any{0.0, 100.0}, []any{100.0, 100.0}, []any{100.0, 50.0}, []any{150.0, 50.0}, []any{150.0, 0.0}, []any{200.0, 0.0}}},
		"seriesOf(samples, 'new', 'traffic', area)":                   []any{[]any{[]any{100.0, 100.0}, []any{150.0, 100.0}, []any{150.0, 0.0}, []any{200.0, 0.0}}},
		"seriesOf(samples, 'old', 'capacity', area)":                  []any{[]any{[]any{0.0, 0.0}, []any{100.0, 0.0}, []any{100.0, 0.0}, []any{150.0, 0.0}}},
		"seriesOf(samples, 'old', 'traffic', area)":                   []any{},
		"seriesOf([samples[0]], 'old', 'capacity', {...area, to: 0})": []any{[]any{[]any{0.0, 0.0}, []any{0.0, 0.0}}},
	} {
		if diff := cmp.Diff(want, s.get(expression, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	}
}

func TestWhatAnUpgradeWaitsFor(t *testing.T) {
	s := scriptOf(t, "timeline")
	const options = "{stepSizePercent: 10, intervalSeconds: 30}"
	at := func(seconds string) string {
		return "waitingFor(sampleOf(one, 0), " + options + ", Date.parse('2026-01-01T00:00:" + seconds + "Z'))"
	}
	starting, none := service(100, 100, 40, 0), service(100, 100, 40, 0)
	starting["status"].(object)["pendingServiceStatus"].(object)["applicationStatuses"].(object)["b"] = object{"status": "DEPLOYING"}
	none["status"].(object)["pendingServiceStatus"].(object)["applicationStatuses"] = object{}
	for name, tc := range map[string]struct {
		service    object
		expression string
		want       string
	}{
		"the interval":         {service(100, 90, 40, 10), at("12"), "The next 10 % of the traffic move in 18 s."},
		"the last of a step":   {service(100, 65, 40, 35), at("12"), "The next 5 % of the traffic move in 18 s."},
		"the interval is over": {service(100, 90, 40, 10), at("40"), "The next 10 % of the traffic are about to move."},
		"capacity":             {service(60, 60, 40, 40), at("12"), ""},
		"an application":       {starting, at("12"), "Waits for application b, which is DEPLOYING."},
		"any application":      {none, at("12"), "Waits for applications on the new cluster."},
		"no options":           {service(100, 90, 40, 10), "waitingFor(sampleOf(one, 0), null, 0)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.get(tc.expression, object{"one": tc.service}); got != tc.want {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

// TestOffers holds what one may do with an object to its state and to the rights.
func TestOffers(t *testing.T) {
	s := scriptOf(t, "allowed")
	cluster := func(spec object) object { return object{"metadata": object{"name": "a"}, "spec": spec} }
	withHead := func(spec object, ready string) object {
		c := cluster(spec)
		c["status"] = object{"conditions": []object{{"type": "HeadPodReady", "status": ready}}}
		return c
	}
	expiring := func(condition string, suspend any) object {
		c := cluster(object{"suspend": suspend})
		c["status"] = object{"conditions": []object{{"type": condition, "status": "False"}}}
		return c
	}
	job := func(status string) object {
		return object{"metadata": object{"name": "a"}, "spec": object{}, "status": object{"jobDeploymentStatus": status}}
	}
	groups := []object{{"groupName": "g"}}
	for name, tc := range map[string]struct {
		plural, resource string
		object           object
		rights           string // of the caller, as a condition on verb and resource; empty for all
		want             []any
	}{
		"a cluster":               {"clusters", "rayclusters", cluster(object{"workerGroupSpecs": groups}), "", []any{"scale", "suspend", "submit", "delete"}},
		"a head alone":            {"clusters", "rayclusters", cluster(object{}), "", []any{"suspend", "submit", "delete"}},
		"a head that is ready":    {"clusters", "rayclusters", withHead(object{}, "True"), "", []any{"suspend", "submit", "dashboard", "delete"}},
		"idle":                    {"clusters", "rayclusters", expiring("Idle", nil), "", []any{"suspend", "keep", "submit", "delete"}},
		"warned, for viewers":     {"clusters", "rayclusters", expiring("Expired", nil), "verb === 'get'", []any{}},
		"suspended as idle":       {"clusters", "rayclusters", expiring("Expired", true), "", []any{"resume", "delete"}},
		"a head that is not":      {"clusters", "rayclusters", withHead(object{}, "False"), "", []any{"suspend", "submit", "delete"}},
		"a head to be suspended":  {"clusters", "rayclusters", withHead(object{"suspend": true}, "True"), "", []any{"resume", "delete"}},
		"right to look":           {"clusters", "rayclusters", withHead(object{}, "True"), "verb === 'get' && resource === 'services' && sub === 'proxy'", []any{"dashboard"}},
		"suspended":               {"clusters", "rayclusters", cluster(object{"suspend": true}), "", []any{"resume", "delete"}},
		"being deleted":           {"clusters", "rayclusters", object{"metadata": object{"deletionTimestamp": "now"}}, "", []any{}},
		"none":                    {"clusters", "rayclusters", nil, "", []any{}},
		"no rights":               {"clusters", "rayclusters", cluster(object{"workerGroupSpecs": groups}), "false", []any{}},
		"right to patch":          {"clusters", "rayclusters", cluster(object{"workerGroupSpecs": groups}), "verb === 'patch' && resource === 'rayclusters'", []any{"scale", "suspend"}},
		"right to submit":         {"clusters", "rayclusters", cluster(object{}), "verb === 'create' && resource === 'services' && sub === 'proxy'", []any{"submit"}},
		"a job that runs":         {"jobs", "rayjobs", job("Running"), "", []any{"suspend", "stop", "delete"}},
		"a job that has ended":    {"jobs", "rayjobs", job("Complete"), "", []any{"delete"}},
		"a service":               {"services", "rayservices", cluster(object{"rayClusterConfig": object{"workerGroupSpecs": groups}}), "", []any{"scale", "suspend", "delete"}},
		"a cron job":              {"cronjobs", "raycronjobs", cluster(object{}), "", []any{"suspend", "trigger", "delete"}},
		"a cron job, for viewers": {"cronjobs", "raycronjobs", cluster(object{}), "verb === 'get'", []any{}},
	} {
		t.Run(name, func(t *testing.T) {
			rights := tc.rights
			if rights == "" {
				rights = "true"
			}
			got := s.get("actionsOf(plural, resource, object, (verb, resource, sub) => "+rights+").map((a) => a.name)", object{"plural": tc.plural, "resource": tc.resource, "object": tc.object})
			if diff := cmp.Diff(any(tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, action := range got.([]any) {
				if action == "delete" && s.get("consequenceOf('delete', plural, object)", nil) == nil {
					t.Error("nothing is said about what a deletion does")
				}
			}
		})
	}
}
