package crd_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/pkg/validation/rule"
)

const crdDir = "bases"

func loadCRD(t testing.TB, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	once, _ := decoded.LoadOrStore(plural, sync.OnceValues(func() (*apiextensionsv1.CustomResourceDefinition, error) {
		raw, err := os.ReadFile(filepath.Join(crdDir, "ray.io_"+plural+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("reading the CRD (hack/generate-api.sh writes it): %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		return crd, yaml.UnmarshalStrict(raw, crd)
	}))
	crd, err := once.(func() (*apiextensionsv1.CustomResourceDefinition, error))()
	if err != nil {
		t.Fatalf("decoding the CRD of %s: %v", plural, err)
	}
	return crd.DeepCopy()
}

// decoded are the CRDs by plural. To decode the YAML of one takes a third of a second.
var decoded sync.Map

func schemaV1(t testing.TB, plural string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, v := range loadCRD(t, plural).Spec.Versions {
		if v.Name == "v1" {
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("the CRD of %s has no version v1", plural)
	return nil
}

// checker is the schema of a kind in the forms that the API server uses.
type checker struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// Reading a CRD and compiling its rules takes long enough to do it once per kind only.
var checkers sync.Map

func checkerFor(t testing.TB, plural string) *checker {
	t.Helper()
	if c, ok := checkers.Load(plural); ok {
		return c.(*checker)
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schemaV1(t, plural), props, nil); err != nil {
		t.Fatalf("converting the schema of %s: %v", plural, err)
	}
	s, err := structuralschema.NewStructural(props)
	if err != nil {
		t.Fatalf("the schema of %s is not structural: %v", plural, err)
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatalf("making a validator of %s: %v", plural, err)
	}
	c := &checker{structural: s, schema: validator, rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}
	checkers.Store(plural, c)
	return c
}

var plurals = []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}

// An API server refuses a CRD that is not structural, or whose CEL rules do not compile or may cost too much.
func TestCRDIsAcceptedByTheAPIServer(t *testing.T) {
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			crd := loadCRD(t, plural)
			apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
			crd.Status.StoredVersions = []string{"v1"}
			in := &apiextensions.CustomResourceDefinition{}
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, in, nil); err != nil {
				t.Fatal(err)
			}
			if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), in); len(errs) > 0 {
				t.Errorf("the API server would refuse the CRD: %v", errs.ToAggregate())
			}
		})
	}
}

func TestCRDNamesAndColumns(t *testing.T) {
	cases := map[string]struct {
		kind        string
		wantColumns []string
	}{
		"rayclusters": {kind: "RayCluster", wantColumns: []string{
			"desired workers integer .status.desiredWorkerReplicas 0",
			"available workers integer .status.availableWorkerReplicas 0",
			"cpus string .status.desiredCPU 0",
			"memory string .status.desiredMemory 0",
			"gpus string .status.desiredGPU 0",
			"tpus string .status.desiredTPU 1",
			"status string .status.state 0",
			"age date .metadata.creationTimestamp 0",
			"head pod IP string .status.head.podIP 1",
			"head service IP string .status.head.serviceIP 1",
		}},
		"rayjobs": {kind: "RayJob", wantColumns: []string{
			"job status string .status.jobStatus 0",
			"deployment status string .status.jobDeploymentStatus 0",
			"ray cluster name string .status.rayClusterName 0",
			"start time string .status.startTime 0",
			"end time string .status.endTime 0",
			"age date .metadata.creationTimestamp 0",
		}},
		"rayservices": {kind: "RayService", wantColumns: []string{
			"service status string .status.serviceStatus 0",
			"num serve endpoints string .status.numServeEndpoints 0",
		}},
		"raycronjobs": {kind: "RayCronJob", wantColumns: []string{
			"schedule string .spec.schedule 0",
			"timezone string .spec.timeZone 0",
			"last schedule date .status.lastScheduleTime 0",
			"age date .metadata.creationTimestamp 0",
			"suspend boolean .spec.suspend 0",
			"next schedule string .status.nextScheduleTime 0", // KubeRay's columns come first
		}},
	}
	for plural, tc := range cases {
		t.Run(plural, func(t *testing.T) {
			crd := loadCRD(t, plural)
			wantNames := apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: strings.ToLower(tc.kind), Kind: tc.kind, ListKind: tc.kind + "List",
				Categories: []string{"all"},
			}
			if diff := cmp.Diff(wantNames, crd.Spec.Names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if crd.Spec.Group != "ray.io" || crd.Spec.Scope != apiextensionsv1.NamespaceScoped || crd.Spec.PreserveUnknownFields {
				t.Errorf("group %q, scope %q, preserveUnknownFields %t", crd.Spec.Group, crd.Spec.Scope, crd.Spec.PreserveUnknownFields)
			}
			v1 := crd.Spec.Versions[slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1" })]
			if !v1.Served || !v1.Storage || v1.Deprecated {
				t.Errorf("v1: served %t, storage %t, deprecated %t", v1.Served, v1.Storage, v1.Deprecated)
			}
			if v1.Subresources == nil || v1.Subresources.Status == nil || v1.Subresources.Scale != nil {
				t.Errorf("subresources are %+v, want status alone", v1.Subresources)
			}
			var columns []string
			for _, c := range v1.AdditionalPrinterColumns {
				columns = append(columns, fmt.Sprintf("%s %s %s %d", c.Name, c.Type, c.JSONPath, c.Priority))
			}
			if diff := cmp.Diff(tc.wantColumns, columns); diff != "" {
				t.Errorf("print columns (-want +got):\n%s", diff)
			}
		})
	}
}

// embedded are the properties whose schema is Kubernetes' own.
var embedded = []string{
	"template", "submitterPodTemplate", "headService", "serveService", "env", "envFrom", "volumeMounts", "securityContext",
	"valueFrom", "tls", "ingressRules", "egressRules", "size", "metadata",
	"desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU",
}

// constraints lists everything in a schema of this project that can reject or change an object, one line each.
func constraints(s *apiextensionsv1.JSONSchemaProps, path string) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, path+" "+fmt.Sprintf(format, args...)) }
	if len(s.Required) > 0 {
		add("required %s", strings.Join(slices.Sorted(slices.Values(s.Required)), " "))
	}
	if s.Default != nil {
		add("default %s", s.Default.Raw)
	}
	if len(s.Enum) > 0 {
		var values [][]byte
		for _, e := range s.Enum {
			values = append(values, e.Raw)
		}
		add("enum %s", bytes.Join(values, []byte(" ")))
	}
	if s.Minimum != nil {
		add("minimum %v", *s.Minimum)
	}
	if s.Maximum != nil {
		add("maximum %v", *s.Maximum)
	}
	if s.MinItems != nil {
		add("minItems %d", *s.MinItems)
	}
	if s.MaxItems != nil {
		add("maxItems %d", *s.MaxItems)
	}
	if s.MinLength != nil {
		add("minLength %d", *s.MinLength)
	}
	if s.MaxLength != nil {
		add("maxLength %d", *s.MaxLength)
	}
	if s.MaxProperties != nil {
		add("maxProperties %d", *s.MaxProperties)
	}
	if s.Pattern != "" {
		add("pattern %s", s.Pattern)
	}
	if s.Nullable {
		add("nullable")
	}
	if s.XListType != nil {
		add("list %s %s", *s.XListType, strings.Join(s.XListMapKeys, " "))
	}
	for _, r := range s.XValidations {
		add("rule %s => %s", r.Rule, r.Message)
	}
	for name, p := range s.Properties {
		underOptions := strings.HasSuffix(path, "Options") && name == "resources"
		if !slices.Contains(embedded, name) && !underOptions {
			out = append(out, constraints(&p, path+"."+name)...)
		}
	}
	// The items of conditions are metav1.Condition.
	if s.Items != nil && !strings.HasSuffix(path, ".conditions") {
		out = append(out, constraints(s.Items.Schema, path+"[]")...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out = append(out, constraints(s.AdditionalProperties.Schema, path+"{}")...)
	}
	slices.Sort(out)
	return out
}

// tabled are the constraints that come from the table of rules.
func tabled(plural string) []string {
	var out []string
	at := func(node string) (string, bool) {
		for step := range strings.SplitSeq(node, ".") {
			if slices.Contains(embedded, strings.TrimRight(step, "[]{}")) {
				return "", false // constraints leaves these out
			}
		}
		return strings.TrimSuffix("."+node, "."), true
	}
	for _, v := range celrules.ValidationsOf(plural) {
		if path, ok := at(v.Node); ok {
			out = append(out, fmt.Sprintf("%s rule %s => %s", path, v.Item.Rule, v.Item.Message))
		}
	}
	for _, b := range celrules.BoundsOf(plural) {
		if path, ok := at(b.Node); ok {
			for keyword, value := range b.Item.Keywords() {
				out = append(out, fmt.Sprintf("%s %s %v", path, keyword, value))
			}
		}
	}
	return out
}

// TestSchemaConstraints holds the complete list of what the schemas enforce: an addition would refuse objects that are
// stored today, a loss would let wrong ones in. What comes from the table of rules is not listed once more.
func TestSchemaConstraints(t *testing.T) {
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			got := constraints(schemaV1(t, plural), "")
			for _, line := range tabled(plural) {
				at, found := slices.BinarySearch(got, line)
				if !found {
					t.Fatalf("the schema lacks %s", line)
				}
				got = slices.Delete(got, at, at+1)
			}
			golden.Text(t, filepath.Join("testdata", plural+".constraints.txt"), strings.Join(got, "\n")+"\n")
		})
	}
}

// TestUpdatesCompareAsCRDs holds what rules compare to values that policies and CRDs compare alike. Where lists have keys or are sets, a CRD
// ignores their order; a policy has no schema and does not.
func TestUpdatesCompareAsCRDs(t *testing.T) {
	compared := 0
	for _, plural := range plurals {
		schema := schemaV1(t, plural)
		for _, r := range celrules.RulesOf(plural) {
			paths := r.Item.Unchanged
			if r.Item.Ratchet == rule.ByServer {
				paths = []string{strings.TrimPrefix(r.Item.Field, ".")}
			}
			for _, path := range paths {
				compared++
				path = strings.Trim(r.Node+"."+path, ".")
				if at := below(schema, path); at == nil || hasUnordered(at) {
					t.Errorf("%s of %s compares %s in order, want a value without lists that have keys or are sets", r.Item.ID, plural, path)
				}
			}
		}
	}
	if compared < 20 {
		t.Errorf("rules compare %d values, want dozens", compared)
	}
}

// below is the schema at a path, or nil.
func below(s *apiextensionsv1.JSONSchemaProps, path string) *apiextensionsv1.JSONSchemaProps {
	for step := range strings.SplitSeq(path, ".") {
		next, ok := s.Properties[step]
		if !ok {
			return nil
		}
		s = &next
	}
	return s
}

// hasUnordered reports whether a value of the schema may contain lists without an order.
func hasUnordered(s *apiextensionsv1.JSONSchemaProps) bool {
	for _, p := range s.Properties {
		if hasUnordered(&p) {
			return true
		}
	}
	values := s.AdditionalProperties
	return s.XListType != nil && *s.XListType != "atomic" || s.Items != nil && hasUnordered(s.Items.Schema) ||
		values != nil && values.Schema != nil && hasUnordered(values.Schema)
}

// TestDescriptions makes sure that `kubectl explain` has an answer for our fields, and that Kubernetes' manual stays out.
func TestDescriptions(t *testing.T) {
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			root := schemaV1(t, plural)
			for _, name := range []string{"spec", "status"} {
				p := root.Properties[name]
				checkDescriptions(t, &p, "."+name, true)
			}
		})
	}
}

func checkDescriptions(t *testing.T, s *apiextensionsv1.JSONSchemaProps, path string, own bool) {
	t.Helper()
	if strings.Contains(s.Description, "nolint") || strings.Contains(s.Description, "+kubebuilder") {
		t.Errorf("%s: a directive got into the description %q", path, s.Description)
	}
	for name, p := range s.Properties {
		at := path + "." + name
		if own && p.Description == "" {
			t.Errorf("%s has no description", at)
		}
		if !own && p.Description != "" {
			t.Errorf("%s belongs to Kubernetes and has the description %q", at, p.Description)
		}
		foreign := slices.Contains(embedded, name) || name == "conditions" || (name == "resources" && strings.HasSuffix(path, "Options"))
		checkDescriptions(t, &p, at, own && !foreign)
	}
	if s.Items != nil {
		checkDescriptions(t, s.Items.Schema, path+"[]", own)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		checkDescriptions(t, s.AdditionalProperties.Schema, path+"{}", own)
	}
}
