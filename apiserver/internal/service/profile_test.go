package service_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/clients/go/convert"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// addProfiles adds ConfigMaps to the API server: those of namespace platform are for all namespaces.
func (w *world) addProfiles(namespace, prefix string, documents map[string]string) {
	list := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		cm := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"profile.yaml": documents[name]}}
		cm.Name, cm.Namespace, cm.Labels = name, namespace, map[string]string{rayv1.LabelConfigType: rayv1.ConfigTypeProfile}
		list.Items = append(list.Items, cm)
		w.kueue[prefix+"configmaps/"+name] = cm
	}
	w.kueue[prefix+"configmaps"] = list
}

const platform = "/api/v1/namespaces/platform/"

func newProfileWorld(t *testing.T) *world {
	w := newWorld(t)
	w.kueue = map[string]any{platform + "configmaps/secret": "forbidden"}
	spec := "spec: {rayVersion: 2.60.0, headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: 'ray:1'}]}}}}\n"
	w.addProfiles("platform", platform, map[string]string{"small": "description: For all\n" + spec + "locked: [spec.rayVersion]", "broken": "spek: {}"})
	w.addProfiles("default", "", map[string]string{"small": "description: Hidden", "own": spec})
	return w
}

func TestCreateWithProfile(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, profile, spec string
		code                int
		want                []string
	}{
		"cluster":           {profile: "small", code: 201, want: []string{`"image":"ray:1"`, `"raygate.io/profile":"small"`}},
		"own fields":        {profile: "small", spec: `"headGroupSpec": {"template": {"spec": {"containers": [{"name": "main", "image": "ray:2"}]}}}`, code: 201, want: []string{`"image":"ray:2"`, `"rayVersion":"2.60.0"`}},
		"of the namespace":  {profile: "own", code: 201, want: []string{`"image":"ray:1"`}},
		"job":               {kind: "jobs", profile: "small", spec: `"entrypoint": "x"`, code: 201, want: []string{`"rayClusterSpec":{"headGroupSpec":{"template"`}},
		"service":           {kind: "services", profile: "small", code: 201, want: []string{`"rayClusterConfig":{"headGroupSpec":{"template"`}},
		"cron job":          {kind: "cronjobs", profile: "small", spec: `"schedule": "* * * * *", "jobTemplate": {"entrypoint": "x"}`, code: 201, want: []string{`"rayClusterSpec":{"headGroupSpec":{"template"`}},
		"locked":            {profile: "small", spec: `"rayVersion": "2.61.0"`, code: 400, want: []string{"spec.rayVersion", "2.61.0", "profile small locks it to 2.60.0: leave it out"}},
		"on a cluster":      {kind: "jobs", profile: "small", spec: `"entrypoint": "x", "clusterSelector": {"ray.io/cluster": "demo"}`, code: 400, want: []string{"metadata.labels[raygate.io/profile]", "leave out one of the two"}},
		"unknown":           {profile: "big", code: 400, want: []string{"metadata.labels[raygate.io/profile]", "big", "platform and default", "raygate profiles"}},
		"forbidden":         {profile: "secret", code: 403, want: []string{"FORBIDDEN"}},
		"cannot be used":    {profile: "broken", code: 400, want: []string{"PROFILE_INVALID", "profile broken in namespace platform", "spek", "correct its ConfigMap"}},
		"mistakes are kept": {profile: "small", spec: `"rayVersion": 5, "rayVersion": 6`, code: 400, want: []string{"MALFORMED_BODY", "spec.rayVersion"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProfileWorld(t)
			kind := tc.kind
			if kind == "" {
				kind = "clusters"
			}
			code, _, body, err := w.send(t, "POST", kind, `{"metadata": {"name": "new", "labels": {"raygate.io/profile": "`+tc.profile+`"}}, "spec": {`+tc.spec+`}}`)
			if err != nil || code != tc.code {
				t.Fatalf("want %d, got %d %v: %s", tc.code, code, err, body)
			}
			if tc.code == 201 {
				kinds := map[string]string{"clusters": "RayCluster", "jobs": "RayJob", "services": "RayService", "cronjobs": "RayCronJob"}
				item, err := objects{w, kinds[kind]}.Get(t.Context(), types.NamespacedName{Name: "new"}, store.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				body = string(item.JSON())
			}
			for _, text := range tc.want {
				if !strings.Contains(body, text) {
					t.Errorf("%s lacks %s", body, text)
				}
			}
		})
	}
}

// A client that sends typed objects sends empty fields, too: they do not hide those of the profile.
func TestEmptyFieldsTakeThoseOfTheProfile(t *testing.T) {
	w := newProfileWorld(t)
	job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{rayv1.LabelProfile: "small"}}}
	job.Spec = rayv1.RayJobSpec{Entrypoint: "x", RayClusterSpec: &rayv1.RayClusterSpec{HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}}}}
	message, err := convert.RayJob.Message(job)
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.jobs.CreateJob(t.Context(), &raygatev2.CreateJobRequest{Namespace: "default", Job: message})
	if err != nil {
		t.Fatal(err)
	}
	spec := made.GetJob().GetSpec().GetRayClusterSpec()
	if spec.GetRayVersion() != "2.60.0" || !strings.Contains(spec.GetHeadGroupSpec().GetTemplate().String(), "ray:1") {
		t.Errorf("the profile is missing in %v", spec)
	}
}

func TestListProfiles(t *testing.T) {
	type listed struct{ Name, Namespace, Description, Mistake string }
	mistake := "profile.yaml: spek: "
	for name, tc := range map[string]struct {
		platform string // an answer in place of the list
		denied   string
		code     int
		want     []listed
	}{
		"all":                  {code: 200, want: []listed{{"broken", "platform", "", mistake}, {"own", "default", "", ""}, {"small", "platform", "For all", ""}}},
		"without the platform": {platform: "forbidden", code: 200, want: []listed{{"own", "default", "", ""}, {"small", "default", "Hidden", ""}}},
		"may get none":         {denied: "get configmaps", code: 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProfileWorld(t)
			w.denied[tc.denied] = true
			if tc.platform != "" {
				w.kueue[platform+"configmaps"] = tc.platform
			}
			code, _, body, err := w.send(t, "GET", "profiles", "")
			var got struct{ Profiles []listed }
			if err != nil || code != tc.code || json.Unmarshal([]byte(body), &got) != nil {
				t.Fatalf("got %d %v: %s", code, err, body)
			}
			for i := range got.Profiles {
				if text := &got.Profiles[i].Mistake; strings.HasPrefix(*text, mistake) {
					*text = mistake
				}
			}
			if diff := cmp.Diff(tc.want, got.Profiles); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestListQueues(t *testing.T) {
	rows := map[string]any{"kind": "Table", "rows": []any{map[string]any{"cells": []any{"team-b", "all", 3}}, map[string]any{"cells": []any{"team-a", "all", 0}}}}
	for name, tc := range map[string]struct {
		version string
		queues  any
		code    int
		want    string
	}{
		"all":              {"v1beta2", rows, 200, `{"queues":[{"name":"team-a"},{"name":"team-b"}]}`},
		"an older version": {"v1beta1", rows, 200, `{"queues":[{"name":"team-a"},{"name":"team-b"}]}`},
		"no Kueue":         {"v1beta1", nil, 200, `{}`},
		"forbidden":        {"v1beta2", "forbidden", 403, "FORBIDDEN"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kueue = map[string]any{"/apis/kueue.x-k8s.io/" + tc.version + "/namespaces/default/localqueues": tc.queues}
			code, _, body, err := w.send(t, "GET", "queues", "")
			if body = strings.Join(strings.Fields(body), ""); err != nil || code != tc.code || !strings.Contains(body, tc.want) {
				t.Errorf("got %d %v: %s", code, err, body)
			}
		})
	}
}
