package claims

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// claimSpecs are the claims and templates of the tests by name.
const claimSpecs = `
two:      {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}
one:      {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
mig:      {devices: {requests: [{name: a, exactly: {deviceClassName: mig.nvidia.com}}, {name: b, exactly: {deviceClassName: mig.nvidia.com, count: 3}}]}}
share:    {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, capacity: {requests: {memory: 4Gi}}}}]}}
chips:    {devices: {requests: [{name: tpu, exactly: {deviceClassName: tpu.google.com, count: 4}}]}}
all:      {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}]}}
admin:    {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}}]}}
same:     {devices: {requests: [{name: gpu, firstAvailable: [{name: big, deviceClassName: gpu.nvidia.com, count: 2}, {name: small, deviceClassName: gpu.amd.com, count: 2}]}]}}
either:   {devices: {requests: [{name: gpu, firstAvailable: [{name: big, deviceClassName: gpu.nvidia.com}, {name: small, deviceClassName: mig.nvidia.com, count: 4}]}]}}
perhaps:  {devices: {requests: [{name: gpu, firstAvailable: [{name: some, deviceClassName: gpu.nvidia.com}, {name: none, deviceClassName: dra.net}]}]}}
network:  {devices: {requests: [{name: nic, exactly: {deviceClassName: dra.net}}, {name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
strange:  {devices: {requests: [{name: x, exactly: {deviceClassName: strange}}]}}
unmade:   {devices: {requests: [{name: x, exactly: {deviceClassName: unmade}}]}}
hidden:   {devices: {requests: [{name: x, exactly: {deviceClassName: hidden}}]}}
`

func specs(t testing.TB) map[string]*resourcev1.ResourceClaimSpec {
	t.Helper()
	out := map[string]*resourcev1.ResourceClaimSpec{}
	if err := yaml.UnmarshalStrict([]byte(claimSpecs), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// world is a Lookup in which some names are hidden from the operator, and others do not exist.
func world(t testing.TB) Lookup {
	t.Helper()
	all := specs(t)
	claim := func(name string) (*resourcev1.ResourceClaimSpec, State) {
		switch spec := all[name]; {
		case name == "secret":
			return nil, Unreadable
		case spec == nil:
			return nil, Missing
		default:
			return spec, Found
		}
	}
	return Lookup{Template: claim, Claim: claim, Class: func(name string) (*resourcev1.DeviceClass, State) {
		switch name {
		case "hidden":
			return nil, Unreadable
		case "unmade":
			return nil, Missing
		default:
			return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, Found
		}
	}}
}

// podWith returns a Pod whose entries of resourceClaims are the words of templates, or of claims after an @, and whose Ray container uses
// some of them: claim, or claim/request.
func podWith(names, uses string) *corev1.PodSpec {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Name: "ray"}, {Name: "sidecar"}}}
	for word := range strings.FieldsSeq(names) {
		name, shared := strings.CutPrefix(word, "@")
		c := corev1.PodResourceClaim{Name: name}
		if shared {
			c.ResourceClaimName = &name
		} else {
			c.ResourceClaimTemplateName = &name
		}
		spec.ResourceClaims = append(spec.ResourceClaims, c)
	}
	for word := range strings.FieldsSeq(uses) {
		claim, request, _ := strings.Cut(word, "/")
		ray := &spec.Containers[0].Resources
		ray.Claims = append(ray.Claims, corev1.ResourceClaim{Name: claim, Request: request})
	}
	return spec
}

// shown is the essence of a result in one line.
func shown(d *Devices) string {
	if d == nil {
		return "none"
	}
	parts := []string{"ray " + d.Ray.String(), "pod " + d.Pod.String()}
	for _, name := range slices.Sorted(maps.Keys(d.Shared)) {
		parts = append(parts, "shared "+name+" "+d.Shared[name].String())
	}
	for _, name := range slices.Sorted(maps.Keys(d.Varies)) {
		parts = append(parts, "varies "+name)
	}
	if d.Opaque {
		parts = append(parts, "opaque")
	}
	for what, list := range map[string][]string{"missing": d.Missing, "unreadable": d.Unreadable, "unknown": d.Unknown} {
		for _, name := range list {
			parts = append(parts, what+" "+name)
		}
	}
	return strings.Join(parts, "; ")
}

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct{ claims, uses, want string }{
		"no claims":                         {"", "", "none"},
		"a count":                           {"two", "two", "ray GPU=2; pod GPU=2"},
		"no count":                          {"one", "one", "ray GPU=1; pod GPU=1"},
		"two claims":                        {"one two", "one two", "ray GPU=3; pod GPU=3"},
		"MIG instances are handles":         {"mig", "mig", "ray GPU=4; pod GPU=4"},
		"one request of a claim":            {"mig", "mig/b", "ray GPU=3; pod GPU=4"},
		"both requests of a claim":          {"mig", "mig/a mig/b", "ray GPU=4; pod GPU=4"},
		"a request and the whole claim":     {"mig", "mig mig/b", "ray GPU=4; pod GPU=4"},
		"a share is a handle":               {"share", "share", "ray GPU=1; pod GPU=1"},
		"TPU":                               {"chips", "chips", "ray TPU=4; pod TPU=4"},
		"network cards do not count":        {"network", "network", "ray GPU=1; pod GPU=1"},
		"of a sidecar":                      {"two", "", "ray ; pod GPU=2"},
		"shared by Pods":                    {"@two", "two", "ray GPU=2; pod ; shared two GPU=2"},
		"all devices":                       {"all", "all", "ray GPU=1; pod GPU=1; varies GPU"},
		"all devices, of a sidecar":         {"all", "", "ray ; pod GPU=1"},
		"administrative access":             {"admin", "admin", "ray ; pod "},
		"alternatives that are alike":       {"same", "same", "ray GPU=2; pod GPU=2"},
		"alternatives that differ":          {"either", "either", "ray GPU=1; pod GPU=1; varies GPU"},
		"an alternative that is no GPU":     {"perhaps", "perhaps", "ray ; pod ; varies GPU"},
		"a class that says nothing":         {"strange", "strange", "ray ; pod ; opaque; unknown strange"},
		"a class that does not exist":       {"unmade", "unmade", "ray ; pod ; opaque; missing DeviceClass unmade"},
		"a class that cannot be read":       {"hidden", "hidden", "ray ; pod ; opaque; unreadable DeviceClass hidden"},
		"a template that does not exist":    {"late one", "late one", "ray GPU=1; pod GPU=1; opaque; missing ResourceClaimTemplate late"},
		"a claim that does not exist":       {"@late", "", "ray ; pod ; missing ResourceClaim late"},
		"a template that cannot be read":    {"secret", "secret", "ray ; pod ; opaque; unreadable ResourceClaimTemplate secret"},
		"a claim that the Pod does not say": {"one", "one other", "ray GPU=1; pod GPU=1"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := podWith(tc.claims, tc.uses)
			before := spec.DeepCopy()
			if got := shown(Of(spec, world(t))); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if diff := cmp.Diff(before, spec); diff != "" {
				t.Errorf("the Pod was changed:\n%s", diff)
			}
		})
	}
}

// TestClaimListedTwice: a Pod sees the devices of an existing claim once, however often it lists the claim.
func TestClaimListedTwice(t *testing.T) {
	spec := podWith("@two", "two again")
	again := spec.ResourceClaims[0]
	again.Name = "again"
	spec.ResourceClaims = append(spec.ResourceClaims, again)
	if got, want := shown(Of(spec, world(t))), "ray GPU=2; pod ; shared two GPU=2"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestResourceOfClass(t *testing.T) {
	class := func(text string) *resourcev1.DeviceClass {
		c := &resourcev1.DeviceClass{}
		if err := yaml.UnmarshalStrict([]byte(text), c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	says := class(`metadata: {annotations: {devices.ray.io/ray-resource: NPU}}`)
	selects := func(expression string) *resourcev1.DeviceClass {
		return &resourcev1.DeviceClass{Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{}, {CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}}}
	}
	for name, tc := range map[string]struct {
		name  string
		class *resourcev1.DeviceClass
		want  string
	}{
		"a known name":                    {"gpu.nvidia.com", class(`{}`), GPU},
		"a known name, unreadable":        {"tpu.google.com", nil, TPU},
		"known to be none":                {"dra.net", nil, None},
		"the annotation comes first":      {"gpu.nvidia.com", says, "NPU"},
		"then the configuration":          {"a100", class(`{spec: {extendedResourceName: google.com/tpu}}`), "A100"},
		"the annotation over it":          {"a100", says, "NPU"},
		"an extended resource":            {"x", class(`{spec: {extendedResourceName: nvidia.com/gpu}}`), GPU},
		"that of TPUs":                    {"x", class(`{spec: {extendedResourceName: google.com/tpu}}`), TPU},
		"that says nothing":               {"x", class(`{spec: {extendedResourceName: example.com/foo}}`), ""},
		"a driver":                        {"x", selects(`device.driver == "gpu.nvidia.com"`), GPU},
		"a driver among conditions":       {"x", selects(`device.attributes["gpu.nvidia.com"].type == "gpu" && ('tpu.google.com' == device.driver && true)`), TPU},
		"one of two drivers":              {"x", selects(`device.driver == "gpu.nvidia.com" || device.driver == "dra.net"`), ""},
		"not a driver":                    {"x", selects(`!(device.driver == "gpu.nvidia.com")`), ""},
		"something else that is a driver": {"x", selects(`other.driver == "gpu.nvidia.com"`), ""},
		"not an expression":               {"x", selects(`device.driver == `), ""},
		"nothing":                         {"x", class(`{}`), ""},
		"nothing, unreadable":             {"x", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			classes := Classes{Configured: map[string]string{"a100": "A100"}}
			if got := classes.Resource(tc.name, tc.class); got != tc.want {
				t.Errorf("resource %q, want %q", got, tc.want)
			}
		})
	}
}

// FuzzOf: no claims end in a panic or in a negative number, and Ray never sees more than the Pod requests.
func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"resourceClaims":[{"name":"a","resourceClaimTemplateName":"a"}],"containers":[{"resources":{"claims":[{"name":"a"}]}}]}`),
		[]byte(`{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.nvidia.com","count":-3}}]}}`), `device.driver == "x" && true`)
	f.Add([]byte(`{"resourceClaims":[{"name":"a","resourceClaimName":"b"},{}]}`),
		[]byte(`{"devices":{"requests":[{"firstAvailable":[{"count":9223372036854775807,"deviceClassName":"tpu.google.com"},{"allocationMode":"All"}]},{}]}}`), `(`)
	f.Fuzz(func(t *testing.T, podText, claimText []byte, expression string) {
		spec, claim := &corev1.PodSpec{}, &resourcev1.ResourceClaimSpec{}
		if yaml.Unmarshal(podText, spec) != nil || yaml.Unmarshal(claimText, claim) != nil {
			return
		}
		find := func(string) (*resourcev1.ResourceClaimSpec, State) { return claim, Found }
		d := Of(spec, Lookup{Template: find, Claim: find, Class: func(name string) (*resourcev1.DeviceClass, State) {
			return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}},
			}}, Found
		}})
		if d == nil {
			return
		}
		if again := Of(spec, Lookup{Template: find, Claim: find, Class: func(string) (*resourcev1.DeviceClass, State) { return nil, Missing }}); again == nil {
			t.Error("the devices depend on whether the class exists")
		}
		all := maps.Clone(d.Pod)
		for _, shared := range d.Shared {
			all.Add(shared, 1)
		}
		for name, n := range d.Ray {
			if n < 0 || len(spec.ResourceClaims) == 1 && n > all[name] {
				t.Errorf("Ray sees %d of %s, of %d", n, name, all[name])
			}
		}
	})
}
