package serveplan

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

func TestStrategyOf(t *testing.T) {
	kind := func(k rayv1.RayServiceUpgradeType) *rayv1.RayServiceUpgradeStrategy {
		return &rayv1.RayServiceUpgradeStrategy{Type: &k}
	}
	cases := map[string]struct {
		strategy *rayv1.RayServiceUpgradeStrategy
		gates    Gates
		want     Strategy
	}{
		"none given":                        {nil, Gates{}, Strategy{NewCluster: true}},
		"none given, no zero downtime":      {nil, Gates{NoZeroDowntime: true}, Strategy{}},
		"no type":                           {&rayv1.RayServiceUpgradeStrategy{}, Gates{}, Strategy{NewCluster: true}},
		"NewCluster":                        {kind(rayv1.RayServiceNewCluster), Gates{}, Strategy{NewCluster: true}},
		"NewCluster wins over the operator": {kind(rayv1.RayServiceNewCluster), Gates{NoZeroDowntime: true}, Strategy{NewCluster: true}},
		"None":                              {kind(rayv1.RayServiceUpgradeNone), Gates{IncrementalUpgrade: true}, Strategy{}},
		"steps":                             {kind(rayv1.RayServiceNewClusterWithIncrementalUpgrade), Gates{IncrementalUpgrade: true}, Strategy{NewCluster: true, Steps: true}},
		"steps without the gate":            {kind(rayv1.RayServiceNewClusterWithIncrementalUpgrade), Gates{}, Strategy{}},
	}
	for name, tc := range cases {
		if got := StrategyOf(&rayv1.RayServiceSpec{UpgradeStrategy: tc.strategy}, tc.gates); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestConfig(t *testing.T) {
	cases := map[string]struct {
		text     string
		capacity *int32
		want     string
		empty    bool
		failed   bool
	}{
		"YAML":                {"http_options: {port: 8000}\napplications:\n- name: a\n  import_path: m:a\n  args: {a: 1, b: 1.5, c: 12345678901234567}\n", nil, `{"applications":[{"args":{"a":1,"b":1.5,"c":12345678901234567},"import_path":"m:a","name":"a"}],"http_options":{"port":8000}}`, false, false},
		"JSON":                {`{"applications":[{"name":"a"}]}`, nil, `{"applications":[{"name":"a"}]}`, false, false},
		"with a capacity":     {"applications: [{name: a}]", new(int32(40)), `{"applications":[{"name":"a"}],"target_capacity":40}`, false, false},
		"over the user's":     {"{applications: [{name: a}], target_capacity: 7}", new(int32(0)), `{"applications":[{"name":"a"}],"target_capacity":0}`, false, false},
		"the user's":          {"{applications: [], target_capacity: 7}", nil, `{"applications":[],"target_capacity":7}`, true, false},
		"nothing":             {"", nil, `{}`, true, false},
		"a list":              {"[]", nil, "", true, true},
		"no YAML":             {"a: [", nil, "", true, true},
		"applications as map": {"applications: {a: b}", nil, `{"applications":{"a":"b"}}`, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := ParseConfig(tc.text)
			if (err != nil) != tc.failed || c.Empty() != tc.empty {
				t.Fatalf("empty %t, %v", c.Empty(), err)
			}
			if err == nil {
				if diff := cmp.Diff(tc.want, string(c.Body(tc.capacity))); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestRuns compares with what Ray says was deployed: an operator that is started anew sends nothing that is there already.
func TestRuns(t *testing.T) {
	deployed := func(text string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	cases := map[string]struct {
		text, deployed string
		want           bool
	}{
		"the same":                    {"applications: [{name: a, import_path: m, args: {num: 1}}]", `{"a":{"args":{"num":1.0},"import_path":"m","name":"a"}}`, true},
		"without a name":              {"applications: [{import_path: m}]", `{"default":{"import_path":"m"}}`, true},
		"with options of the start":   {"{http_options: {port: 1}, applications: [{name: a}]}", `{"a":{"name":"a"}}`, true},
		"with what Ray does not tell": {"{logging_config: {}, applications: [{name: a}]}", `{"a":{"name":"a"}}`, false},
		"another":                     {"applications: [{name: a, import_path: n}]", `{"a":{"import_path":"m","name":"a"}}`, false},
		"one more":                    {"applications: [{name: a}, {name: b}]", `{"a":{"name":"a"}}`, false},
		"one less":                    {"applications: [{name: a}]", `{"a":{"name":"a"},"b":{"name":"b"}}`, false},
		"not told":                    {"applications: [{name: a}]", `{"a":null}`, false},
		"nothing":                     {"applications: []", `{}`, false},
	}
	for name, tc := range cases {
		c, err := ParseConfig(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Runs(deployed(tc.deployed)); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	c := DeployedConfig(deployed(`{"b":{"name":"b"},"a":{"name":"a"}}`), json.RawMessage(`"HeadOnly"`), nil, nil)
	if got, want := string(c.Body(new(int32(50)))), `{"applications":[{"name":"a"},{"name":"b"}],"proxy_location":"HeadOnly","target_capacity":50}`; got != want {
		t.Errorf("what is kept: %s, want %s", got, want)
	}
}

func TestServeLabel(t *testing.T) {
	at := raytest.Epoch.Time
	cases := map[string]struct {
		excluded bool
		probe    Probe
		want     string
	}{
		"not asked yet":             {false, Probe{}, ""},
		"healthy":                   {false, Probe{AskedAt: at, Healthy: true}, "true"},
		"not healthy":               {false, Probe{AskedAt: at}, "false"},
		"excluded":                  {true, Probe{AskedAt: at, Healthy: true}, "false"},
		"no answer once":            {false, Probe{AskedAt: at, Healthy: true, FailingSince: at.Add(2), FailedAt: at.Add(1)}, ""},
		"no answer twice":           {false, Probe{AskedAt: at, Healthy: true, FailingSince: at.Add(2), FailedAt: at.Add(3)}, "false"},
		"never an answer":           {false, Probe{FailingSince: at.Add(2), FailedAt: at.Add(1)}, ""},
		"never an answer, for long": {false, Probe{FailingSince: at.Add(2), FailedAt: at.Add(9)}, "false"},
	}
	for name, tc := range cases {
		if got := ServeLabel(tc.excluded, tc.probe); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestDiffers(t *testing.T) {
	base := func() *rayv1.RayServiceStatuses {
		return &rayv1.RayServiceStatuses{
			LastUpdateTime: &metav1.Time{Time: raytest.Epoch.Time}, NumServeEndpoints: 1,
			ActiveServiceStatus: rayv1.RayServiceStatus{
				RayClusterName: "a", TargetCapacity: new(int32(100)), LastTrafficMigratedTime: &metav1.Time{Time: raytest.Epoch.Time},
				Applications: map[string]rayv1.AppStatus{"shop": {Status: "RUNNING", Deployments: map[string]rayv1.ServeDeploymentStatus{"d": {Status: "HEALTHY"}}}},
			},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: raytest.Epoch}},
		}
	}
	cases := map[string]struct {
		change func(*rayv1.RayServiceStatuses)
		want   bool
	}{
		"nothing":                 {func(*rayv1.RayServiceStatuses) {}, false},
		"the time of the write":   {func(st *rayv1.RayServiceStatuses) { st.LastUpdateTime = nil }, false},
		"the copy of a cluster's": {func(st *rayv1.RayServiceStatuses) { st.ActiveServiceStatus.RayClusterStatus.Reason = "x" }, false},
		"another pointer":         {func(st *rayv1.RayServiceStatuses) { st.ActiveServiceStatus.TargetCapacity = new(int32(100)) }, false},
		"parts of a second": {func(st *rayv1.RayServiceStatuses) {
			st.ActiveServiceStatus.LastTrafficMigratedTime = &metav1.Time{Time: raytest.Epoch.Add(time.Millisecond)}
		}, false},
		"a capacity": {func(st *rayv1.RayServiceStatuses) { st.ActiveServiceStatus.TargetCapacity = new(int32(99)) }, true},
		"a deployment": {func(st *rayv1.RayServiceStatuses) {
			st.ActiveServiceStatus.Applications["shop"].Deployments["d"] = rayv1.ServeDeploymentStatus{}
		}, true},
		"endpoints":    {func(st *rayv1.RayServiceStatuses) { st.NumServeEndpoints = 2 }, true},
		"a name":       {func(st *rayv1.RayServiceStatuses) { st.PendingServiceStatus.RayClusterName = "b" }, true},
		"a message":    {func(st *rayv1.RayServiceStatuses) { st.Conditions[0].Message = "m" }, true},
		"a generation": {func(st *rayv1.RayServiceStatuses) { st.ObservedGeneration = 7 }, true},
	}
	for name, tc := range cases {
		after := base()
		tc.change(after)
		if got := Differs(base(), after); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

// FuzzNext plans for anything that can be observed: no panic, and no plan that cannot be carried out.
func FuzzNext(f *testing.F) {
	for i := range int64(30) {
		f.Add(i, config1)
	}
	f.Fuzz(func(t *testing.T, seed int64, text string) {
		names := []string{"", "demo-a", "demo-b", "demo-c"}
		kinds := []string{"Ready", "UpgradeInProgress", "RollbackInProgress", "Suspending", "Suspended"}
		next := 0
		fill := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).Funcs(
			func(m *rayservice.Match, c randfill.Continue) {
				*m = []rayservice.Match{rayservice.Same, rayservice.Appended, rayservice.Different}[c.Intn(3)]
			},
			func(st *rayv1.RayServiceStatus, c randfill.Continue) {
				c.FillNoCustom(st)
				st.RayClusterName = names[c.Intn(4)]
			},
			func(l *[]metav1.Condition, c randfill.Continue) {
				*l = nil
				for _, kind := range kinds {
					if c.Intn(2) == 0 {
						*l = append(*l, metav1.Condition{Type: kind, Status: []metav1.ConditionStatus{"True", "False", "Unknown"}[c.Intn(3)], Reason: []string{"Initializing", "x"}[c.Intn(2)]})
					}
				}
			},
			func(m *map[string]Cluster, c randfill.Continue) {
				*m = map[string]Cluster{}
				for _, name := range names[1:] {
					if c.Intn(2) == 0 {
						var one Cluster
						c.Fill(&one)
						(*m)[name] = one
					}
				}
			},
			func(m *map[string]int32, c randfill.Continue) {
				*m = map[string]int32{}
				for _, name := range names[1:] {
					if c.Intn(2) == 0 {
						(*m)[name] = int32(c.Intn(101))
					}
				}
			},
			func(cfg *Config, _ randfill.Continue) { *cfg, _ = ParseConfig(text) },
			func(suffix *func() string, _ randfill.Continue) {
				*suffix = func() string { next++; return string(rune('a' + next)) }
			},
		)
		var in Input
		fill.Fill(&in)
		if in.Service == nil {
			in.Service = &rayv1.RayService{}
		}
		in.HeadService, in.ServeService = names[seed&3], names[seed>>2&3]
		before := in.Service.DeepCopy()
		p := Next(in)
		if once := slices.Compact(slices.Sorted(slices.Values(p.Rules))); len(p.Rules) == maxRules || len(once) < len(p.Rules) {
			t.Errorf("the decision does not end: %v", p.Rules)
		}
		if diff := cmp.Diff(before, in.Service); diff != "" {
			t.Fatalf("planning changed the object:\n%s", diff)
		}
		for _, name := range p.Delete {
			if name == p.Status.ActiveServiceStatus.RayClusterName || name == p.Status.PendingServiceStatus.RayClusterName {
				t.Errorf("%s is used and deleted", name)
			}
		}
		if _, there := in.Clusters[p.Create]; there {
			t.Errorf("%s is there and created", p.Create)
		}
		if p.Services != "" {
			if c, there := in.Clusters[p.Services]; !there || c.Deleting {
				t.Errorf("the Services are to lead to %s, which is not there", p.Services)
			}
		}
		if p.Serve != "" {
			if c, there := in.Clusters[p.Serve]; !there || c.Deleting || p.Services == "" {
				t.Errorf("the serve Service is to lead to %s, which is not there", p.Serve)
			}
		}
		for _, c := range p.Status.Conditions {
			if len(c.Message) > 32<<10 {
				t.Errorf("the API server refuses a message of %d bytes", len(c.Message))
			}
		}
		sum := int32(0)
		for _, b := range p.Route {
			sum += b.Weight
			if b.Weight < 0 {
				t.Errorf("weight %d", b.Weight)
			}
		}
		if p.Route != nil && sum != 100 {
			t.Errorf("shares of %d percent: %v", sum, p.Route)
		}
		for _, d := range p.Deploy {
			if c, there := in.Clusters[d.Cluster]; !there || c.Deleting || d.Capacity != nil && (*d.Capacity < 0 || *d.Capacity > 100) {
				t.Errorf("deploys %+v", d)
			}
		}
		if p.After < 0 {
			t.Errorf("look again after %s", p.After)
		}
	})
}
