package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// ends are the clients of both sides: the API server and the gateway.
type ends struct {
	typed client.Client // of the API server, decodes into CRD types

	raw  *http.Client // of the API server: TLS and HTTP/2, as kubectl
	host string

	rest *http.Client // of the gateway
	url  string

	conn *grpc.ClientConn
	grpc raygatev2.ClusterServiceClient
}

// startGateway starts the gateway and waits until it is ready.
func (s *session) startGateway(ctx context.Context) (*ends, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	p, err := s.start("raygate-apiserver",
		"--kubeconfig="+s.kubeconfig,
		"--authentication=none",
		"--grpc-address="+ports[0],
		"--http-address="+ports[1],
		"--metrics-address="+ports[2],
	)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, "the gateway", 30*time.Second, httpOK("http://"+ports[1]+"/readyz")); err != nil {
		return nil, err
	}
	e := &ends{
		typed: s.client,
		host:  s.config.Host,
		rest:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: createClients}},
		url:   "http://" + ports[1],
	}
	if e.raw, err = rest.HTTPClientFor(s.config); err != nil {
		return nil, fmt.Errorf("making HTTP client: %w", err)
	}
	e.conn, err = grpc.NewClient(ports[0],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, fmt.Errorf("making gRPC client: %w", err)
	}
	e.grpc = raygatev2.NewClusterServiceClient(e.conn)
	return e, nil
}

func (e *ends) close() { _ = e.conn.Close() }

// fetch sends a request and reads the whole answer, which has to be a success and to contain the text want.
func fetch(ctx context.Context, c *http.Client, method, url string, body []byte, want string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 || !bytes.Contains(data, []byte(want)) {
		return nil, fmt.Errorf("%s %s answered %s: %.500s", method, url, resp.Status, data)
	}
	return data, nil
}

func rawGet(c *http.Client, url string, t target) call {
	return func(ctx context.Context) error {
		_, err := fetch(ctx, c, http.MethodGet, url, nil, `"`+t.name+`"`)
		return err
	}
}

// rawList counts the items of the first answer, and then expects answers of that length: decoding each of them would be
// what is measured.
func rawList(c *http.Client, url string, want int) call {
	length := 0
	return func(ctx context.Context) error {
		data, err := fetch(ctx, c, http.MethodGet, url, nil, `"items"`)
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

func rawCreate(c *http.Client, url string, t target) (call, error) {
	body, err := json.Marshal(smallCluster(t))
	if err != nil {
		return nil, fmt.Errorf("encoding a cluster: %w", err)
	}
	return func(ctx context.Context) error {
		_, err := fetch(ctx, c, http.MethodPost, url, body, `"resourceVersion"`)
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

func (e *ends) restList(c collection, view string) call {
	return rawList(e.rest, fmt.Sprintf("%s?pageSize=%d&view=%s", e.gatewayURL(c.namespace), c.size, view), c.size)
}

func (e *ends) directRawCreate(t target) (call, error) {
	return rawCreate(e.raw, e.directURL(t.namespace), t)
}

func (e *ends) restCreate(t target) (call, error) {
	return rawCreate(e.rest, e.gatewayURL(t.namespace), t)
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
		resp, err := e.grpc.ListClusters(ctx, &raygatev2.ListClustersRequest{Namespace: c.namespace, PageSize: int32(c.size), View: view})
		if err != nil {
			return err
		}
		return wantItems(len(resp.GetItems()), c.size)
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
