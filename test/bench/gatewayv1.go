package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// The same calls by KubeRay's V1 API.

func (e *ends) v1URL(namespace, collection string) string {
	return e.url + "/apis/v1/namespaces/" + namespace + "/" + collection
}

func (e *ends) v1Get(t target) call {
	return rawGet(e.rest, e.v1URL(t.namespace, "clusters")+"/"+t.name, t)
}

// v1List is rawList for answers that call their items clusters.
func (e *ends) v1List(c collection) call {
	length, answer, url := 0, &bytes.Buffer{}, e.v1URL(c.namespace, "clusters")
	return func(ctx context.Context) error {
		data, err := fetch(ctx, e.rest, answer, exchange{url: url, want: `"clusters"`})
		if err != nil || len(data) == length {
			return err
		}
		var list struct {
			Clusters []json.RawMessage `json:"clusters"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("decoding %s: %w", url, err)
		}
		length = len(data)
		return wantItems(len(list.Clusters), c.size)
	}
}

// v1Template makes the compute template that v1Create names.
func (e *ends) v1Template(ctx context.Context, namespace string) error {
	_, err := fetch(ctx, e.rest, &bytes.Buffer{}, exchange{url: e.v1URL(namespace, "compute_templates"), body: fmt.Appendf(nil, `{"name":"small","namespace":%q,"cpu":1,"memory":4}`, namespace), want: `"small"`})
	return err
}

func (e *ends) v1Create(t target) (call, error) {
	body := fmt.Appendf(nil, `{"name":%q,"namespace":%q,"user":"bench","version":"2.46.0","clusterSpec":{"headGroupSpec":{"computeTemplate":"small","rayStartParams":{"dashboard-host":"0.0.0.0"},`+
		`"environment":{"values":{"BENCH":"true"}}},"workerGroupSpec":[{"groupName":"cpu","computeTemplate":"small","replicas":%d,"minReplicas":%d,"maxReplicas":10,"rayStartParams":{}}]}}`,
		t.name, t.namespace, smallWorkers, smallWorkers)
	return func(ctx context.Context) error {
		_, err := fetch(ctx, e.rest, &bytes.Buffer{}, exchange{url: e.v1URL(t.namespace, "clusters"), body: body, want: `"createdAt"`})
		return err
	}, nil
}

// directV1Create makes the calls to the API server that V1 makes for the message of v1Create. It reads the ConfigMap of the compute
// template, which the gateway caches only with --v1-cache-templates. It creates the object, which is larger than that of the other rows and
// is copied from a first one.
func (e *ends) directV1Create(ctx context.Context, namespace string) (createCall, error) {
	first := target{namespace, "created-first"}
	create, err := e.v1Create(first)
	if err != nil {
		return nil, err
	}
	if err := create(ctx); err != nil {
		return nil, err
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(rayv1.GroupVersion.WithKind("RayCluster"))
	if err := e.typed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: first.name}, stored); err != nil {
		return nil, fmt.Errorf("reading the first one: %w", err)
	}
	if err := e.typed.Delete(ctx, stored); err != nil {
		return nil, fmt.Errorf("deleting the first one: %w", err)
	}
	bare := map[string]any{"apiVersion": stored.GetAPIVersion(), "kind": stored.GetKind(), "spec": stored.Object["spec"]}
	return func(t target) (call, error) {
		rc := &unstructured.Unstructured{Object: maps.Clone(bare)}
		rc.SetNamespace(t.namespace)
		rc.SetName(t.name)
		rc.SetLabels(stored.GetLabels())
		rc.SetAnnotations(stored.GetAnnotations())
		create, err := rawCreate(e.raw, e.directURL(t.namespace), rc)
		read := rawGet(e.raw, e.host+"/api/v1/namespaces/"+t.namespace+"/configmaps/small", target{t.namespace, "small"})
		return func(ctx context.Context) error {
			if err := read(ctx); err != nil {
				return err
			}
			return create(ctx)
		}, err
	}, nil
}
