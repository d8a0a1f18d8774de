package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// exchange is a request and a text that its answer must contain: a GET, or a POST if it has a body.
type exchange struct {
	url  string
	body []byte
	want string
}

// fetch sends a request and reads the whole answer, which must be a success, into a buffer. A reused buffer excludes the cost of growing it,
// which belongs to neither side, from the measurement.
func fetch(ctx context.Context, c *http.Client, into *bytes.Buffer, x exchange) ([]byte, error) {
	method := http.MethodGet
	if x.body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, x.url, bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if x.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	into.Reset()
	if _, err := into.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	data := into.Bytes()
	if resp.StatusCode/100 != 2 || !bytes.Contains(data, []byte(x.want)) {
		return nil, fmt.Errorf("%s %s answered %s: %.500s", method, x.url, resp.Status, data)
	}
	return data, nil
}

func rawGet(c *http.Client, url string, t target) call {
	answer := &bytes.Buffer{}
	return func(ctx context.Context) error {
		_, err := fetch(ctx, c, answer, exchange{url: url, want: `"` + t.name + `"`})
		return err
	}
}

// rawList counts the items of the first answer, and then expects answers of that length, because decoding each answer would distort the
// measurement.
func rawList(c *http.Client, url string, want int) call {
	length, answer := 0, &bytes.Buffer{}
	return func(ctx context.Context) error {
		data, err := fetch(ctx, c, answer, exchange{url: url, want: `"items"`})
		if err != nil || len(data) == length {
			return err
		}
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("decoding %s: %w", url, err)
		}
		length = len(data)
		return wantItems(len(list.Items), want)
	}
}

func wantItems(got, want int) error {
	if got != want {
		return fmt.Errorf("a list has %d items, want %d", got, want)
	}
	return nil
}

func rawCreate(c *http.Client, url string, object any) (call, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding a cluster: %w", err)
	}
	return func(ctx context.Context) error {
		_, err := fetch(ctx, c, &bytes.Buffer{}, exchange{url: url, body: body, want: `"resourceVersion"`})
		return err
	}, nil
}

func (e *ends) directURL(namespace string) string {
	return e.host + "/apis/ray.io/v1/namespaces/" + namespace + "/rayclusters"
}

func (e *ends) gatewayURL(namespace string) string {
	return e.url + "/apis/v2/namespaces/" + namespace + "/clusters"
}

func (e *ends) directRawGet(t target) call {
	return rawGet(e.raw, e.directURL(t.namespace)+"/"+t.name, t)
}

func (e *ends) restGet(t target) call {
	return rawGet(e.rest, e.gatewayURL(t.namespace)+"/"+t.name, t)
}

func (e *ends) directRawList(c collection) call {
	return rawList(e.raw, e.directURL(c.namespace), c.size)
}

// restList reads all pages of a list: one ends where it would have too many bytes.
func (e *ends) restList(c collection, view string) call {
	url := fmt.Sprintf("%s?pageSize=%d&view=%s", e.gatewayURL(c.namespace), c.size, view)
	length, answer := 0, &bytes.Buffer{}
	return func(ctx context.Context) error {
		read, items, token := 0, 0, ""
		for {
			data, err := fetch(ctx, e.rest, answer, exchange{url: url + "&pageToken=" + token, want: `"items"`})
			if err != nil {
				return err
			}
			read += len(data)
			if length == 0 {
				var list struct {
					Items []json.RawMessage `json:"items"`
				}
				if err := json.Unmarshal(data, &list); err != nil {
					return fmt.Errorf("decoding %s: %w", url, err)
				}
				items += len(list.Items)
			}
			_, next, more := bytes.Cut(data[:min(len(data), 1024)], []byte(`"nextPageToken":"`))
			if !more {
				break
			}
			before, _, _ := bytes.Cut(next, []byte(`"`))
			token = string(before)
		}
		if length > 0 {
			return nil
		}
		length = read
		return wantItems(items, c.size)
	}
}

func (e *ends) directRawCreate(t target) (call, error) {
	return rawCreate(e.raw, e.directURL(t.namespace), smallCluster(t))
}

func (e *ends) restCreate(t target) (call, error) {
	return rawCreate(e.rest, e.gatewayURL(t.namespace), smallCluster(t))
}

func (e *ends) directGet(t target) call {
	return func(ctx context.Context) error {
		var rc rayv1.RayCluster
		if err := e.typed.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, &rc); err != nil {
			return err
		}
		return wantName(rc.Name, t)
	}
}

func wantName(got string, t target) error {
	if got != t.name {
		return fmt.Errorf("got cluster %q, want %q", got, t.name)
	}
	return nil
}

func (e *ends) grpcGet(t target) call {
	return func(ctx context.Context) error {
		resp, err := e.grpc.GetCluster(ctx, &raygatev2.GetClusterRequest{Namespace: t.namespace, Name: t.name})
		if err != nil {
			return err
		}
		return wantName(resp.GetCluster().GetMetadata().GetName(), t)
	}
}

func (e *ends) directList(c collection) call {
	return func(ctx context.Context) error {
		var list rayv1.RayClusterList
		if err := e.typed.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		return wantItems(len(list.Items), c.size)
	}
}

func (e *ends) grpcList(c collection, view string) call {
	return func(ctx context.Context) error {
		items, token := 0, ""
		for {
			resp, err := e.grpc.ListClusters(ctx, &raygatev2.ListClustersRequest{Namespace: c.namespace, PageSize: int32(c.size), View: view, PageToken: token})
			if err != nil {
				return err
			}
			items += len(resp.GetItems())
			if token = resp.GetNextPageToken(); token == "" {
				return wantItems(items, c.size)
			}
		}
	}
}

func (e *ends) directCreate(t target) (call, error) {
	rc := smallCluster(t)
	return func(ctx context.Context) error { return e.typed.Create(ctx, rc) }, nil
}

func (e *ends) grpcCreate(t target) (call, error) {
	data, err := json.Marshal(smallCluster(t))
	if err != nil {
		return nil, fmt.Errorf("encoding a cluster: %w", err)
	}
	// A v2 message has the JSON names of the CRD.
	var message raygatev2.RayCluster
	if err := protojson.Unmarshal(data, &message); err != nil {
		return nil, fmt.Errorf("converting a cluster: %w", err)
	}
	return func(ctx context.Context) error {
		resp, err := e.grpc.CreateCluster(ctx, &raygatev2.CreateClusterRequest{Namespace: t.namespace, Cluster: &message})
		if err != nil {
			return err
		}
		return wantName(resp.GetCluster().GetMetadata().GetName(), t)
	}, nil
}
