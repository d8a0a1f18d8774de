package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fileHead = "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\n"

// apart takes joined errors apart.
func apart(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func TestDecodeReportsEverything(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string // one per problem; parts of the texts, in order
	}{
		"empty":                         {text: "", want: []string{"is empty"}},
		"blank documents":               {text: "---\n---\n", want: []string{"more than one YAML document"}},
		"two documents":                 {text: fileHead + "---\n" + fileHead, want: []string{"more than one YAML document"}},
		"not YAML":                      {text: "a: [", want: []string{"not YAML"}},
		"a list":                        {text: "- a", want: []string{"expected object, got"}},
		"a word":                        {text: "volcano", want: []string{"expected object, got"}},
		"null":                          {text: "null", want: []string{"expected object, got"}},
		"another kind":                  {text: "apiVersion: v1\nkind: ConfigMap\ndata: {}\n", want: []string{`"v1" and "ConfigMap", but must be "config.ray.io/v1alpha1" and "Configuration"`}},
		"another version":               {text: "apiVersion: config.ray.io/v1\nkind: Configuration\n", want: []string{`"config.ray.io/v1"`}},
		"no kind":                       {text: "apiVersion: config.ray.io/v1alpha1\n", want: []string{`"Configuration"`}},
		"nothing but the head":          {text: fileHead},
		"JSON":                          {text: `{"apiVersion":"config.ray.io/v1alpha1","kind":"Configuration","burst":3}`},
		"a document after a comment":    {text: "# made by a chart\n---\n" + fileHead},
		"unknown fields":                {text: fileHead + "watchNamespaces: a\nMetricsAddr: ':1'\n", want: []string{`field MetricsAddr: unknown field "MetricsAddr", did you mean "metricsAddr"?`, `field watchNamespaces: unknown field "watchNamespaces"`}},
		"unknown fields deep down":      {text: fileHead + "workerSidecarContainers:\n- {name: a, image: b}\n- {name: c, image: d, resources: {limit: {cpu: 1}}}\n", want: []string{`field workerSidecarContainers[1].resources.limit: unknown field "limit"`}},
		"a repeated field":              {text: fileHead + "burst: 1\nburst: 2\n", want: []string{"burst"}},
		"a repeated gate":               {text: fileHead + "featureGates: {A: true, A: false}\n", want: []string{"field featureGates.A: line 3: the key is there twice"}},
		"wrong types":                   {text: fileHead + "burst: '1'\nenableMetrics: 'yes'\nqps: fast\nreconcileConcurrency: 1.5\nwatchNamespace: [a]\n", want: []string{"field reconcileConcurrency: expected integer, got number 1.5", "field watchNamespace: expected string, got list", `field enableMetrics: expected boolean, got string "yes"`, `field qps: expected number, got string "fast"`, `field burst: expected integer, got string "1"`}},
		"wrong types deep down":         {text: fileHead + "defaultPodLabels: {a: 1}\nheadSidecarContainers: {name: a}\n", want: []string{"field headSidecarContainers: expected list", "field defaultPodLabels[a]: expected string"}},
		"a wrong and an unknown field":  {text: fileHead + "burst: x\nbrust: 1\n", want: []string{"field burst: expected integer", `field brust: unknown field "brust", did you mean "burst"?`}},
		"a number beyond all reason":    {text: fileHead + "burst: 99999999999999999999\n", want: []string{"field burst: "}},
		"a duration that is not one":    {text: fileHead + "clusterExpiry: [{idleTimeout: 1 day}]\n", want: []string{"field clusterExpiry[0].idleTimeout: "}},
		"a quantity that is not one":    {text: fileHead + "headSidecarContainers: [{name: a, image: b, resources: {limits: {cpu: lots}}}]\n", want: []string{"field headSidecarContainers[0].resources.limits[cpu]: "}},
		"a misspelt switch, not a gate": {text: fileHead + "featureGates: {RayCronJob: 'on'}\n", want: []string{"field featureGates[RayCronJob]: expected boolean"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(tc.text))
			var got []error
			if err != nil {
				got = apart(err)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("%d problems, want %d: %v", len(got), len(tc.want), err)
			}
			for i, part := range tc.want {
				if !strings.Contains(got[i].Error(), part) {
					t.Errorf("problem %d is %q, want one with %q", i, got[i], part)
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string
	}{
		"good": {text: "headSidecarContainers: [{name: a, image: i}, {name: b, image: i}]\ndefaultContainerEnvs: [{name: A, value: x}]\ndefaultPodLabels: {a.b/c: d}\ndefaultPodAnnotations: {A.b/c: any text at all}\n"},
		"sidecars": {
			text: "headSidecarContainers: [{image: i}, {name: A_B, image: i}, {name: a, image: i}, {name: a}, {name: autoscaler, image: i}]\n",
			want: []string{"[0].name is missing", `[1].name is "A_B"`, `[3].name is "a" like an earlier one`, "[3].image is missing", `[4].name is "autoscaler", which is the name`},
		},
		"variables": {
			text: "defaultContainerEnvs: [{value: x}, {name: A, value: x}, {name: A}, {name: 'a=b'}, {name: B, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n",
			want: []string{"[0].name is missing", `[2].name is "A" like an earlier one`, `[3].name is "a=b"`, "[4] has value and valueFrom"},
		},
		"idle clusters": {
			text: "clusterExpiry: [{namespaces: ['team-*'], idleTimeout: 1h, maxIdleTimeout: 8h}, {namespaces: ['[', ''], idleTimeout: 0s, maxIdleTimeout: 1h, maxAge: -1h, maxKeep: 0s}, {idleTimeout: 2h, maxIdleTimeout: 1h, action: delete}]\n",
			want: []string{
				`clusterExpiry[1].namespaces has "["`, `[1].namespaces has ""`, "[1].idleTimeout is 0s", "[1].maxAge is -1h0m0s", "[1].maxKeep is 0s",
				"[2].idleTimeout is 2h0m0s and exceeds maxIdleTimeout, 1h0m0s", `[2].action is "delete"`,
			},
		},
		"labels and annotations": {
			text: "defaultPodLabels: {a: 'b c', 'd e': f}\ndefaultPodAnnotations: {'g h': i}\n",
			want: []string{`defaultPodLabels[a] is "b c"`, `defaultPodLabels has the key "d e"`, `defaultPodAnnotations has the key "g h"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Decode([]byte(fileHead + tc.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, err := range c.Validate() {
				text := err.Error()
				if i < len(tc.want) && strings.Contains(text, tc.want[i]) {
					text = tc.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDecode: no bytes make the operator panic, and what it accepts it accepts again in another form.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "---", fileHead, fileHead + "burst: 1\nqps: 2.5\nfeatureGates: {A: true}\n", fileHead + "burst: 1\nburst: 2\n",
		fileHead + "headSidecarContainers: [{name: a, image: b, imag: c}]\n", "{\"apiVersion\": 1}", "a: &a [*a]", "- \x00", fileHead + "---\n" + fileHead,
		fileHead + "defaultPodLabels: {a: b}\ndefaultContainerEnvs: [{name: A, valueFrom: {}}]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(data)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			return
		}
		_ = c.Validate()
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Errorf("what was accepted is refused as JSON: %v\n%s", err, again)
		}
	})
}
