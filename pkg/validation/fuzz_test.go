package validation_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// fuzzKind holds that no object that can be decoded, with or without its defaults, makes a rule panic, that
// what is reported is described, that an update to the same object is no update, and that the verdict is always the same.
// Each object is also written over another, and over a valid one.
func fuzzKind(f *testing.F, kind string) {
	for _, e := range examples.Of(kind) {
		data, err := json.Marshal(e.Object())
		was, errOld := json.Marshal(e.Old())
		if err == nil && errOld == nil && len(data) < 1<<16 {
			f.Add(data, was)
		}
	}
	described := map[string]bool{}
	for _, r := range validation.Rules() {
		described[r.ID] = true
	}
	checks, _ := validation.ForKind(kind)
	base := bases()[kind]
	f.Fuzz(func(t *testing.T, data, was []byte) {
		object, old := decode(checks, data), decode(checks, was)
		if object == nil {
			return
		}
		if old == nil {
			old = base()
		}
		for _, o := range []validation.Options{{}, everything()} {
			first := checks.Create(object, o)
			list := append(slices.Clone(first.Errors), first.Warnings...)
			for _, v := range []validation.Verdict{checks.Update(object, old, o), checks.Update(object, base(), o), checks.Update(base(), object, o)} {
				list = append(append(list, v.Errors...), v.Warnings...)
			}
			list = append(list, checks.Status(object, o)...)
			for _, v := range validation.Violations(list) {
				if !described[v.Rule] || v.Field == "" {
					t.Errorf("rule %q at %q is not described", v.Rule, v.Field)
				}
			}
			same := object.DeepCopyObject().(validation.Object)
			same.SetLabels(map[string]string{"touched": "yes"})
			object.SetLabels(nil)
			if errs := checks.Update(same, object, o).Errors; len(errs) > 0 {
				t.Errorf("an update that changes nothing is refused: %v", errs)
			}
			same.SetLabels(nil)
			again := checks.Create(same, o)
			now := checks.Create(object, o)
			if diff := cmp.Diff(validation.Violations(now.Errors), validation.Violations(again.Errors)); diff != "" {
				t.Errorf("two verdicts on one object differ:\n%s", diff)
			}
			checks.SetDefaults(object)
		}
	})
}

func FuzzRayCluster(f *testing.F) { fuzzKind(f, "RayCluster") }

func FuzzRayJob(f *testing.F) { fuzzKind(f, "RayJob") }

func FuzzRayService(f *testing.F) { fuzzKind(f, "RayService") }

func FuzzRayCronJob(f *testing.F) { fuzzKind(f, "RayCronJob") }

// everything turns on what is off by default, and knows something about all around.
func everything() validation.Options {
	o := validation.Options{Gates: map[validation.Gate]bool{}, BatchScheduler: new("volcano"), CertManagerMissing: true, RequestVersion: "v1alpha1",
		HeadClusterIPService: true, HeadSidecars: []string{"a"}, Facts: &validation.Facts{
			ServiceAccountMissing: true, AuthSecretMissing: true, SelectedClusterMissing: true, ForeignNetworkPolicies: []string{"a"},
			Claim: &corev1.PersistentVolumeClaimSpec{}, WorkerPods: map[string][]string{"cpu": nil}, WantedPods: map[string]int64{"cpu": 3},
		}, Now: time.Unix(1<<31, 0)}
	for _, g := range []validation.Gate{validation.GateMTLS, validation.GateHistoryServer, validation.GateNetworkPolicy, validation.GateEmbeddedGCSStorage,
		validation.GateCronJob, validation.GateSidecarSubmitterRestart} {
		o.Gates[g] = true
	}
	return o
}

// decode returns nil for what is no object of the kind. Decoding is not under test.
func decode(checks validation.Checks, data []byte) (object validation.Object) {
	defer func() {
		if recover() != nil {
			object = nil
		}
	}()
	object = checks.New()
	if err := json.Unmarshal(data, object); err != nil {
		return nil
	}
	return object
}

func TestNilObjects(t *testing.T) {
	for _, checks := range validation.AllChecks() {
		for name, v := range map[string]validation.Verdict{
			"create":         checks.Create(nil, validation.Options{}),
			"update":         checks.Update(nil, nil, validation.Options{}),
			"without old":    checks.Update(checks.New(), nil, validation.Options{}),
			"empty":          checks.Create(checks.New(), validation.Options{}),
			"with all gates": checks.Create(checks.New(), everything()),
		} {
			if len(v.Errors) == 0 {
				t.Errorf("%s: %s of nothing has no errors", checks.Kind, name)
			}
		}
		if errs := checks.Status(nil, validation.Options{}); len(errs) > 0 {
			t.Errorf("%s: the status of nothing has errors: %v", checks.Kind, errs)
		}
	}
}
