package verdicts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// testCase is an example on its way through the entry points.
type testCase struct {
	examples.Example
	// object and old are as a client sends them, with the defaults of the schema, under a name of their own.
	object, old validation.Object
	// setting is the one whose programs see it; nil when none would, for the reason in skip.
	setting *setting
	skip    string
	// namespace is where the object is stored for the controller. Empty for what no controller looks at.
	namespace string
	// alone and condition are what was said before there were rules in the CRDs.
	alone     answer
	condition string
	// versions are the resourceVersions of old, by namespace.
	versions map[string]string
}

// Reasons why an example has nothing to say to any entry point.
const (
	skipGoOnly  = "cannot be said in JSON"
	skipStatus  = "is about the status, which the API server takes from no one who creates or updates an object"
	skipVersion = "is about v1alpha1; this test speaks v1"
	skipFacts   = "needs what only the controller of the kind can look up"
	skipOptions = "needs an operator with other options than feature gates"
)

func newCases() []*testCase {
	var cases []*testCase
	used := map[string]int{}
	for i, e := range examples.All() {
		c := &testCase{Example: e, versions: map[string]string{}}
		cases = append(cases, c)
		if c.skip = skipOf(e); c.skip != "" {
			continue
		}
		c.object, c.old = decoded(e.Object()), decoded(e.Old())
		if c.object.GetName() == baseOf(c.Kind).GetName() { // as long as the old one, since rules count letters
			name := "d" + leftPad(strconv.FormatInt(int64(i), 36), 3)
			c.object.SetName(name)
			c.old.SetName(name)
		}
		c.chooseSetting()
		if c.setting == nil || !hasController(c.Kind, c.setting) || c.Severity != rule.SeverityError || c.Update || c.object.GetName() == "" {
			continue
		}
		key := c.setting.name + "/" + c.object.GetName()
		c.namespace = fmt.Sprintf("stored-%s-%d", c.setting.name, used[key])
		if !slices.Contains(c.setting.stored, c.namespace) {
			c.setting.stored = append(c.setting.stored, c.namespace)
		}
		used[key]++
	}
	for _, s := range settings { // two more, for the tests about stored objects and the corpus
		s.stored = append(s.stored, nsRatchet(s), nsCorpus(s))
	}
	return cases
}

func nsRatchet(s *setting) string { return "ratchet-" + s.name }

func leftPad(s string, n int) string { return strings.Repeat("0", max(0, n-len(s))) + s }

func skipOf(e examples.Example) string {
	switch {
	case e.GoOnly:
		return skipGoOnly
	case strings.HasPrefix(e.WantFields[0], "status"):
		return skipStatus
	case e.Options.RequestVersion != "":
		return skipVersion
	}
	return ""
}

// chooseSetting takes the first setting under which the rule is reported where it should be. The other rules may be fewer.
func (c *testCase) chooseSetting() {
	want := validation.Violations(c.verdict(c.Options).Errors)
	tried := settings
	if c.Kind == "RayCronJob" {
		tried = slices.Concat(settings[1:2], settings) // by default there is no controller for them
	}
	for _, optionsOf := range []func(*setting) validation.Options{(*setting).clientOptions, (*setting).operatorOptions, (*setting).controllerOptions} {
		for _, s := range tried {
			if v := c.verdict(optionsOf(s)); c.reported(v) && slices.Equal(want, validation.Violations(v.Errors)) {
				c.setting = s
				return
			}
		}
	}
	if c.skip = skipOptions; c.Options.Facts != nil {
		c.skip = skipFacts
	}
}

// verdict is what Go says under some options.
func (c *testCase) verdict(o validation.Options) validation.Verdict {
	checks, _ := validation.ForKind(c.Kind)
	if c.Update {
		return checks.Update(c.object, c.old, o)
	}
	return checks.Create(c.object, o)
}

// reported reports whether a verdict contains the rule of the example, at all of its fields.
func (c *testCase) reported(v validation.Verdict) bool {
	errs := v.Errors
	if c.Severity == rule.SeverityWarning {
		errs = v.Warnings
	}
	var fields []string
	for _, e := range validation.Violations(errs) {
		if e.Rule == c.ID {
			fields = append(fields, e.Field)
		}
	}
	return slices.Equal(fields, c.WantFields)
}

// decoded is the object as the rules get it from an API server.
func decoded(object validation.Object) validation.Object {
	checks, _ := validation.For(object)
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	out := checks.New()
	if err := json.Unmarshal(raw, out); err != nil {
		panic(err)
	}
	checks.SetDefaults(out)
	return out
}

func baseOf(kind string) validation.Object {
	for _, base := range []validation.Object{examples.Base(), examples.BaseJob(), examples.BaseService(), examples.BaseCronJob()} {
		if checks, _ := validation.For(base); checks.Kind == kind {
			return base
		}
	}
	panic(kind)
}

// asUnstructured is what a client sends.
func asUnstructured(object validation.Object) *unstructured.Unstructured {
	checks, _ := validation.For(object)
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil { // keeps whole numbers whole
		panic(err)
	}
	u.SetAPIVersion(rayv1.GroupVersion.String())
	u.SetKind(checks.Kind)
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u
}

func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// sent is the object as a client sends it. One without a spec says so, and not what the defaults of a spec would be.
func (c *testCase) sent() *unstructured.Unstructured {
	u := asUnstructured(c.object)
	if strings.HasSuffix(c.ID, "-581") {
		delete(u.Object, "spec")
	}
	return u
}

// storeObjects stores what will be updated, everywhere, and what the controller is to look at.
func storeObjects(ctx context.Context) error {
	if _, err := store(ctx, asUnstructured(oldCluster()), nsRatchet(settings[0])); err != nil {
		return err
	}
	return forEach(len(lab.cases), func(i int) error {
		c := lab.cases[i]
		switch {
		case c.setting == nil:
		case c.Update:
			for _, ns := range []string{nsCRDs, nsPolicies, nsWebhooks(c.setting), nsGateway} {
				version, err := store(ctx, asUnstructured(c.old), ns)
				if err != nil {
					return fmt.Errorf("%s: %w", c, err)
				}
				c.versions[ns] = version
			}
		case c.namespace != "":
			if _, err := store(ctx, c.sent(), c.namespace); apierrors.IsInvalid(err) {
				c.namespace = "" // no schema is needed to refuse this
			} else if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		return nil
	})
}

// store creates an object, with its status, and returns its version.
func store(ctx context.Context, u *unstructured.Unstructured, namespace string) (string, error) {
	u.SetNamespace(namespace)
	client := kindOf(u.GetKind()).Namespace(namespace)
	status := u.Object["status"]
	created, err := client.Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if s, ok := status.(map[string]any); ok && len(s) > 0 {
		created.Object["status"] = status
		if created, err = client.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
			return "", err
		}
	}
	return created.GetResourceVersion(), nil
}

// problems are errors or warnings of Go in the form in which answers are compared.
func problems(errs field.ErrorList) []problem {
	var all []problem
	for _, v := range validation.Violations(errs) {
		all = append(all, problem{Rule: v.Rule, Field: v.Field, Text: v.Message})
	}
	return all
}
