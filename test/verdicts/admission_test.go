package verdicts

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/validation"
)

var config = filepath.Join("..", "..", "operator", "config")

var (
	crds            = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	webhooks        = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	policies        = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	policyBindings  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	kindToPolicies  = map[string]schema.GroupVersionResource{"ValidatingAdmissionPolicy": policies, "ValidatingAdmissionPolicyBinding": policyBindings}
	labelOfWebhooks = "verdicts.test/webhooks" // the name of a setting
	labelOfPolicies = "verdicts.test/policies"
)

// installCRDs creates or replaces the CRDs, and waits until the API server goes by them.
func installCRDs(ctx context.Context, withoutRules bool) error {
	for _, checks := range validation.AllChecks() {
		plural := strings.ToLower(checks.Kind) + "s"
		data, err := os.ReadFile(filepath.Join(config, "crd", "bases", "ray.io_"+plural+".yaml"))
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{}
		if err := sigsyaml.Unmarshal(data, &crd.Object); err != nil {
			return err
		}
		if withoutRules {
			versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
			for _, v := range versions {
				withoutConstraints(v.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any))
			}
			if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
				return err
			}
		}
		if err := replaceCRD(ctx, crd); err != nil {
			return fmt.Errorf("%s: %w", plural, err)
		}
	}
	for _, checks := range validation.AllChecks() {
		err := eventually(ctx, "the CRD of "+checks.Kind, func(ctx context.Context) error {
			if withoutRules {
				_, err := kindOf(checks.Kind).List(ctx, metav1.ListOptions{})
				return err
			}
			// An object without anything: every kind has something that its schema requires or checks.
			_, err := kindOf(checks.Kind).Namespace(nsCRDs).Create(ctx, broken(checks.Kind), metav1.CreateOptions{DryRun: dryRun})
			if !apierrors.IsInvalid(err) {
				return fmt.Errorf("an object of a wrong form is not refused: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceCRD writes a CRD until the API server compiles it within the time that it has for a request.
func replaceCRD(ctx context.Context, crd *unstructured.Unstructured) error {
	client := lab.dynamic.Resource(crds)
	return eventually(ctx, "an API server with time for "+crd.GetName(), func(ctx context.Context) error {
		now, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err == nil {
			crd.SetResourceVersion(now.GetResourceVersion())
			_, err = client.Update(ctx, crd, metav1.UpdateOptions{})
		} else if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, crd, metav1.CreateOptions{})
		}
		if err == nil || apierrors.IsTimeout(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return err
		}
		return stop(err)
	})
}

// broken is an object that every schema with constraints refuses.
func broken(kind string) *unstructured.Unstructured {
	spec := map[string]any{
		"RayCluster": map[string]any{"managedBy": "nobody"},
		"RayJob":     map[string]any{"submissionMode": "Nonsense"},
		"RayService": map[string]any{"upgradeStrategy": map[string]any{"type": "Nonsense"}},
		"RayCronJob": map[string]any{"concurrencyPolicy": "Nonsense"},
	}[kind]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": kind, "metadata": map[string]any{"name": "broken"}, "spec": spec,
	}}
}

// constraints are the keywords of a schema that refuse. Types and defaults remain, and so does what makes a schema structural.
var constraints = []string{
	"enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "required",
	"exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "multipleOf", "x-kubernetes-validations", "x-kubernetes-list-type",
	"x-kubernetes-list-map-keys", "x-kubernetes-map-type", "oneOf", "not", "allOf",
}

func withoutConstraints(schema map[string]any) {
	for _, keyword := range constraints {
		delete(schema, keyword)
	}
	for _, nested := range []string{"items", "additionalProperties"} {
		if s, ok := schema[nested].(map[string]any); ok {
			withoutConstraints(s)
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for _, s := range properties {
			withoutConstraints(s.(map[string]any))
		}
	}
}

// registerWebhooks takes the configuration from the overlay, once for each setting, with the address of its operator.
func registerWebhooks(ctx context.Context) error {
	data, err := os.ReadFile(filepath.Join(config, "components", "webhook", "validating.yaml"))
	if err != nil {
		return err
	}
	for _, s := range settings {
		hook := &unstructured.Unstructured{}
		if err := sigsyaml.Unmarshal(data, &hook.Object); err != nil {
			return err
		}
		hook.SetName(hook.GetName() + "-" + s.name)
		list, _, _ := unstructured.NestedSlice(hook.Object, "webhooks")
		for _, w := range list {
			w := w.(map[string]any)
			path, _, _ := unstructured.NestedString(w, "clientConfig", "service", "path")
			w["clientConfig"] = map[string]any{"url": s.webhookURL + path, "caBundle": base64.StdEncoding.EncodeToString(s.webhookCA)}
			w["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{labelOfWebhooks: s.name}}
			w["failurePolicy"] = "Fail" // or a webhook that does not answer would look like one that agrees
			w["timeoutSeconds"] = int64(30)
		}
		if err := unstructured.SetNestedSlice(hook.Object, list, "webhooks"); err != nil {
			return err
		}
		if _, err := lab.dynamic.Resource(webhooks).Create(ctx, hook, metav1.CreateOptions{}); err != nil {
			return err
		}
		for _, namespace := range []string{nsWebhooks(s), nsLayers(s)} {
			if err := askWebhooksAbout(ctx, s, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// askWebhooksAbout returns when the API server asks the webhooks of a setting about the objects in a namespace.
func askWebhooksAbout(ctx context.Context, s *setting, namespace string) error {
	if err := label(ctx, namespace, labelOfWebhooks, s.name); err != nil {
		return err
	}
	probe := lab.cases[slices.IndexFunc(lab.cases, func(c *testCase) bool {
		return c.Kind == "RayCluster" && c.ID == "RC-053" && !c.Update
	})]
	return eventually(ctx, "webhooks in "+namespace, func(ctx context.Context) error {
		if v := create(ctx, probe, namespace); v.by != byWebhook {
			return fmt.Errorf("an invalid object gets %+v", v)
		}
		return nil
	})
}

// updatesSuffix ends the names of the policies that belong to the CRDs: their rules on updates.
const updatesSuffix = "-updates"

// installPolicies installs the policies of the CRDs for all namespaces, and the bundle for the namespaces with the label.
func installPolicies(ctx context.Context) error {
	ofCRDs, err := filepath.Glob(filepath.Join(config, "crd", "updates", "*.yaml"))
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(config, "policies", "*.yaml"))
	if err != nil {
		return err
	}
	files = append(ofCRDs, files...)
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		decoder := yaml.NewYAMLOrJSONDecoder(f, 4096)
		for {
			u := &unstructured.Unstructured{}
			if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("decoding %s: %w", file, err)
			}
			if len(u.Object) > 0 {
				objects = append(objects, u)
			}
		}
		_ = f.Close()
	}
	// The last ones tell when the API server has taken up all before.
	objects = append(objects, policyOn("raygate-verdicts-probe", "!has(object.metadata.labels) || !('probe' in object.metadata.labels)", "probe")...)
	for _, u := range objects {
		if u.GetKind() == "ValidatingAdmissionPolicyBinding" && !strings.HasSuffix(u.GetName(), updatesSuffix) {
			selector := map[string]any{"matchLabels": map[string]any{labelOfPolicies: "true"}}
			if err := unstructured.SetNestedMap(u.Object, selector, "spec", "matchResources", "namespaceSelector"); err != nil {
				return err
			}
		}
		if err := createPolicy(ctx, u); err != nil {
			return err
		}
	}
	for _, s := range settings {
		if err := askPoliciesAbout(ctx, nsLayers(s)); err != nil {
			return err
		}
	}
	return askPoliciesAbout(ctx, nsPolicies)
}

func createPolicy(ctx context.Context, u *unstructured.Unstructured) error {
	gvr, ok := kindToPolicies[u.GetKind()]
	if !ok {
		return fmt.Errorf("the bundle holds a %s %s, which this test does not know", u.GetKind(), u.GetName())
	}
	_, err := lab.dynamic.Resource(gvr).Create(ctx, u, metav1.CreateOptions{})
	return err
}

// askPoliciesAbout returns when the API server goes by the policies in a namespace.
func askPoliciesAbout(ctx context.Context, namespace string) error {
	if err := label(ctx, namespace, labelOfPolicies, "true"); err != nil {
		return err
	}
	return eventually(ctx, "policies in "+namespace, func(ctx context.Context) error {
		u := asUnstructured(baseOf("RayCluster"))
		u.SetName("probe")
		u.SetNamespace(namespace)
		u.SetLabels(map[string]string{"probe": "yes"})
		_, err := kindOf("RayCluster").Namespace(namespace).Create(ctx, u, metav1.CreateOptions{DryRun: dryRun})
		if err == nil || !strings.Contains(err.Error(), "raygate-verdicts-probe") {
			return fmt.Errorf("the probe is not refused: %w", err)
		}
		return nil
	})
}

// policyOn is a policy about RayClusters and its binding.
func policyOn(name, expression, message string) []*unstructured.Unstructured {
	policy := map[string]any{
		"failurePolicy": "Fail",
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []any{"ray.io"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"rayclusters"},
		}}},
		"validations": []any{map[string]any{"expression": expression, "message": message, "reason": "Invalid"}},
	}
	binding := map[string]any{"policyName": name, "validationActions": []any{"Deny"}}
	object := func(kind string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": maps.Clone(spec),
		}}
	}
	return []*unstructured.Unstructured{object("ValidatingAdmissionPolicy", policy), object("ValidatingAdmissionPolicyBinding", binding)}
}

// writeCertificate makes tls.crt and tls.key for the loopback interface, and returns the CA.
func writeCertificate(dir string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600); err != nil {
		return nil, err
	}
	return certificate, os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600)
}
