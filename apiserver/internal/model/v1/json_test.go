package v1

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestJSONIsThatOfProtojson writes every message with every field set, and empty, as protojson does with KubeRay's options.
func TestJSONIsThatOfProtojson(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, file := range wireFiles {
		for i := range file.Messages().Len() {
			md := file.Messages().Get(i)
			if md.Name() == "Status" {
				continue // holds an Any, which is never sent
			}
			m := newMessage(t, md.FullName())
			fill(r, m)
			got, err := AppendJSON(nil, m)
			if err != nil {
				t.Fatalf("%s: %v", md.Name(), err)
			}
			want, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			a, b := decode(t, want), decode(t, got)
			addVolumeTypes(a)
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%s (-protojson +ours):\n%s", md.Name(), diff)
			}
			back := m.ProtoReflect().New().Interface()
			if err := protojson.Unmarshal(got, back); err != nil || !proto.Equal(m, back) {
				t.Errorf("%s read again: %v\n%s", md.Name(), err, cmp.Diff(m, back, protocmp.Transform()))
			}
		}
	}
}

// addVolumeTypes adds what is written of volumes although it is zero.
func addVolumeTypes(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			addVolumeTypes(item)
		}
	case map[string]any:
		if _, ok := v["mountPropagationMode"]; ok || v["mountPath"] != nil {
			if v["volumeType"] == nil {
				v["volumeType"] = 0.0
			}
		}
		for _, item := range v {
			addVolumeTypes(item)
		}
	}
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func TestJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		m    proto.Message
		want string
	}{
		"an empty list of clusters":     {&kuberay.ListClustersResponse{}, `{"clusters":[]}`},
		"an empty list of all clusters": {&kuberay.ListAllClustersResponse{}, `{"clusters":[]}`},
		"an empty list of templates":    {&kuberay.ListComputeTemplatesResponse{}, `{"computeTemplates":[]}`},
		"an empty list of jobs":         {&kuberay.ListRayJobsResponse{}, `{}`},
		"a volume of the first type":    {&kuberay.Volume{Name: "a", MountPath: "/a"}, `{"mountPath":"/a","volumeType":0,"name":"a"}`},
		"a group without parameters":    {&kuberay.HeadGroupSpec{Environment: &kuberay.EnvironmentVariables{}}, `{"rayStartParams":{},"environment":{}}`},
		"times of a submission":         {&kuberay.JobSubmissionInfo{StartTime: 1700000000000}, `{"startTime":"1700000000000"}`},
		"enums are numbers":             {&kuberay.Cluster{Environment: kuberay.Cluster_PRODUCTION}, `{"environment":3}`},
		"floats":                        {&kuberay.RayJob{EntrypointNumCpus: 0.1, EntrypointNumGpus: float32(math.NaN())}, `{"entrypointNumCpus":0.1,"entrypointNumGpus":"NaN"}`},
		"the odd name":                  {&kuberay.RayService{ServeConfig_V2: "a: <b> & \"c\"\n"}, `{"serveConfigV2":"a: <b> & \"c\"\n"}`},
		"presence":                      {&kuberay.SecurityContext{Privileged: new(false)}, `{"privileged":false}`},
	} {
		got, err := AppendJSON(nil, tc.m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(decode(t, []byte(tc.want)), decode(t, got)); diff != "" {
			t.Errorf("%s: %s\n%s", name, got, diff)
		}
	}
}

func TestJSONOfLists(t *testing.T) {
	got, err := AppendList(nil, &kuberay.ListClustersResponse{Clusters: make([]*kuberay.Cluster, 2), Continue: "x"}, [][]byte{[]byte(`{"name":"a"}`), []byte(`{}`)})
	if want := `{"clusters":[{"name":"a"},{}],"continue":"x"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func jsonOf(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := AppendJSON(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
