package move

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
)

const (
	// applyOurs is the command of the page and of `raygate migrate check`, for the CRDs alone.
	applyOurs   = "kubectl apply --server-side --force-conflicts -k operator/config/crd"
	applyTheirs = `kubectl apply --server-side --force-conflicts -f "$KUBERAY_CRDS"`
)

// TestCRDsOverKubeRay puts our CRDs over those of KubeRay, and these back, whoever installed them, each in another way here: all fields are ours after
// that, and theirs again, and objects stay what they are. TestMoveAndBack does so with what kubectl create installed.
func TestCRDsOverKubeRay(t *testing.T) {
	suite.All(t, "applies all CRDs twice; TestMoveAndBack replaces them, too")
	c := &cluster{t: t, env: controlplane.Start(t, controlplane.Options{Nodes: -1, CRDs: controlplane.NoCRDs}), namespace: "default", work: t.TempDir()}
	scheme := controlplane.Scheme(t)
	err := apiextensionsv1.AddToScheme(scheme)
	if err != nil {
		t.Fatal(err)
	}
	if c.client, err = client.New(c.env.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	theirs := kubeRayCRDs(t)
	c.crds = write(t, theirs)
	c.installOld(theirs["rayclusters.ray.io"].DeepCopy())
	c.bash("GitOps", `kubectl apply --server-side --field-manager=argocd-controller -f "$KUBERAY_CRDS"/rayservices.ray.io.yaml`)
	c.bash("apply", `kubectl apply --server-side -f "$KUBERAY_CRDS"/raycronjobs.ray.io.yaml`)
	// As Helm 3 does with those of a chart's folder crds/: once, and with nothing in them of the release.
	if err := c.client.Create(t.Context(), theirs["rayjobs.ray.io"].DeepCopy(), client.FieldOwner("helm")); err != nil {
		t.Fatal(err)
	}
	c.established()
	uid := c.createText(strings.NewReplacer("NAME", "kept", "v1alpha1", "v1").Replace(object))

	report := c.bash("the check", "raygate migrate check || test $? -eq 1")
	for _, want := range []string{"storedVersions v1alpha1, v1", "status.storedVersions", "kubectl-replace (", "argocd-controller (", "helm (", "kubectl ("} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%.3000s", want, report)
		}
	}
	c.fails(strings.Replace(applyOurs, " --force-conflicts", "", 1), `conflicts with "kubectl-replace"`, `conflicts with "argocd-controller"`, `conflicts with "helm"`)
	c.bash("ours", applyOurs)
	c.isInstalled(ourCRDs(t), uid)
	c.bash("back", applyTheirs)
	c.isInstalled(theirs, uid)

	helm(t)
	install := "helm install raygate charts/raygate --namespace raygate-system --create-namespace --force-conflicts"
	c.fails(install, "cannot be imported into the current release")
	c.bash("ours, by Helm", install+" --take-ownership")
	c.isInstalled(ourCRDs(t), uid)
}

// installOld installs a CRD that stores v1alpha1, as KubeRay's did before 1.0, makes an object and upgrades it.
func (c *cluster) installOld(crd *apiextensionsv1.CustomResourceDefinition) {
	c.t.Helper()
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == "v1alpha1"
	}
	c.bash("install", "kubectl create -f "+write(c.t, map[string]*apiextensionsv1.CustomResourceDefinition{crd.Name: crd}))
	c.established()
	c.bash("an object", "kubectl create -f - <<< '"+strings.ReplaceAll(object, "NAME", "older")+"'")
	c.bash("upgrade", `kubectl replace -f "$KUBERAY_CRDS"/`+crd.Name+".yaml")
}

const object = `{"apiVersion": "ray.io/v1alpha1", "kind": "RayCluster", "metadata": {"name": "NAME", "namespace": "default"}, "spec": {"rayVersion": "2.54.0",
	"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.54.0"}]}}}}}`

// fails runs a command that must end with an error that says so.
func (c *cluster) fails(command string, want ...string) {
	c.t.Helper()
	out := c.bash("what fails", command+` 2>&1 && echo "it succeeded" || true`)
	for _, text := range want {
		if strings.Contains(out, "it succeeded") || !strings.Contains(out, text) {
			c.t.Errorf("%s: want an error with %q, got:\n%.2000s", command, text, out)
		}
	}
}

// isInstalled compares what the API server has with manifests, as far as these go, and looks at the object.
func (c *cluster) isInstalled(want map[string]*apiextensionsv1.CustomResourceDefinition, uid string) {
	c.t.Helper()
	for name, w := range want {
		got := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.client.Get(c.t.Context(), client.ObjectKey{Name: name}, got); err != nil {
			c.t.Fatal(err)
		}
		const generator = "controller-gen.kubebuilder.io/version"
		if got.Annotations[generator] != w.Annotations[generator] {
			c.t.Errorf("%s: annotation %s", name, got.Annotations[generator])
		}
		for _, problem := range differences(plainJSON(c.t, w.Spec.Versions), plainJSON(c.t, got.Spec.Versions), name) {
			c.t.Error(problem)
		}
		if got.Spec.Conversion != nil && got.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
			c.t.Errorf("%s: conversion %v", name, got.Spec.Conversion)
		}
		stored := []string{"v1"}
		if name == "rayclusters.ray.io" {
			stored = []string{"v1alpha1", "v1"}
		}
		if !slices.Equal(got.Status.StoredVersions, stored) {
			c.t.Errorf("%s: stored versions %v, want %v", name, got.Status.StoredVersions, stored)
		}
	}
	for _, name := range []string{"kept", "older"} {
		rc := &rayv1.RayCluster{}
		c.eventually(name+" to be written", func() error {
			if err := c.client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, rc); err != nil {
				return err
			}
			rc.Labels = map[string]string{"written": fmt.Sprint(len(rc.ManagedFields))}
			if err := c.client.Update(c.t.Context(), rc); err != nil && !apierrors.IsConflict(err) {
				return err
			}
			return nil
		})
		if rc.Spec.RayVersion != "2.54.0" || name == "kept" && string(rc.UID) != uid {
			c.t.Errorf("%s is %+v", name, rc)
		}
	}
}

// plainJSON is an object as its reader sees it.
func plainJSON(t *testing.T, o any) any {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

// differences are at most ten paths at which two objects differ. A library that looks for the least difference takes minutes over schemas of these sizes.
func differences(want, got any, path string) []string {
	var all []string
	wantMap, ok1 := want.(map[string]any)
	gotMap, ok2 := got.(map[string]any)
	wantList, ok3 := want.([]any)
	gotList, ok4 := got.([]any)
	switch {
	case ok1 && ok2:
		names := maps.Clone(wantMap)
		maps.Copy(names, gotMap)
		for name := range names {
			all = append(all, differences(wantMap[name], gotMap[name], path+"."+name)...)
		}
	case ok3 && ok4 && len(wantList) == len(gotList):
		for i := range wantList {
			all = append(all, differences(wantList[i], gotList[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	case !reflect.DeepEqual(want, got):
		all = []string{fmt.Sprintf("%s: got %.200v, want %.200v", path, got, want)}
	}
	return all[:min(len(all), 10)]
}

// helm builds Helm of the version that is pinned for tests into bin/; nothing happens where that is done.
func helm(t *testing.T) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "helm.sh/helm/v4/cmd/helm")
	cmd.Dir, cmd.Env = filepath.Join(root, "hack", "release"), os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building Helm: %v\n%s", err, out)
	}
}
