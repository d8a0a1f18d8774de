package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// ends are the clients of both sides: the API server and the gateway.
type ends struct {
	typed client.Client // of the API server, decodes into CRD types

	raw  *http.Client // of the API server: TLS and HTTP/2, as kubectl
	host string

	rest    *http.Client // of the gateway
	url     string
	metrics string // URL

	grpcAddress string
	grpcOptions []grpc.DialOption
	conn        *grpc.ClientConn
	grpc        raygatev2.ClusterServiceClient

	process *process // the gateway
	stop    func()
	cert    string // folder with tls.crt and tls.key of the gateway; empty without TLS
}

// startGateway starts the gateway and waits until it is ready.
func (s *session) startGateway(ctx context.Context, by side) (*ends, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	// No limits for single callers: the benchmark is one of them.
	flags := []string{"--kubeconfig=" + s.kubeconfig, "--grpc-address=" + ports[0], "--http-address=" + ports[1], "--metrics-address=" + ports[2], "--caller-qps=-1", "--v1-cache-templates", "--v1-cache-events"}
	e := &ends{
		typed: s.client, host: s.config.Host, url: "http://" + ports[1], metrics: "http://" + ports[2] + "/metrics", grpcAddress: ports[0],
		grpcOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20))},
	}
	transport, config := &http.Transport{MaxIdleConnsPerHost: createClients}, s.config
	e.rest = &http.Client{Transport: transport}
	if by.secure {
		token, err := s.token(ctx)
		if err != nil {
			return nil, err
		}
		e.cert = s.dir
		ca, err := writeCertificate(e.cert)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		e.url = "https://" + ports[1]
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		e.rest.Transport = clienttransport.NewBearerAuthRoundTripper(token, transport)
		e.grpcOptions = append(e.grpcOptions, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})), grpc.WithPerRPCCredentials(bearer(token)))
		config = rest.AnonymousClientConfig(s.config)
		config.BearerToken, config.QPS, config.UserAgent = token, -1, s.config.UserAgent
		if e.typed, err = client.New(config, client.Options{Scheme: s.client.Scheme()}); err != nil {
			return nil, fmt.Errorf("making client: %w", err)
		}
		flags = append(flags, "--tls-cert-file="+filepath.Join(e.cert, "tls.crt"), "--tls-private-key-file="+filepath.Join(e.cert, "tls.key"))
	} else {
		e.grpcOptions = append(e.grpcOptions, grpc.WithTransportCredentials(insecure.NewCredentials()))
		flags = append(flags, "--authentication=none")
	}
	if e.process, err = s.start("raygate-apiserver", flags...); err != nil {
		return nil, err
	}
	if err := e.process.await(ctx, "the gateway", 30*time.Second, httpOK("http://"+ports[2]+"/readyz")); err != nil {
		return nil, err
	}
	if e.raw, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("making HTTP client: %w", err)
	}
	if e.conn, err = grpc.NewClient(e.grpcAddress, e.grpcOptions...); err != nil {
		return nil, fmt.Errorf("making gRPC client: %w", err)
	}
	e.grpc = raygatev2.NewClusterServiceClient(e.conn)
	e.stop = func() { s.stop(e.process) }
	return e, nil
}

// close ends the connections and the gateway.
func (e *ends) close() {
	_ = e.conn.Close()
	e.stop()
}

// bearer sends a token with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }

// token returns the token of a ServiceAccount with all rights.
func (s *session) token(ctx context.Context) (string, error) {
	const name, namespace = "bench", "default"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, object := range []client.Object{account, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
	}} {
		if err := s.client.Create(ctx, object); err != nil {
			return "", fmt.Errorf("making a user: %w", err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := s.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	return request.Status.Token, nil
}

// liveHeap is the number of bytes that the gateway holds: half of the target of its garbage collector. Gets trigger collections. They leave
// no garbage behind, because the answer is the stored object itself.
func (e *ends) liveHeap(ctx context.Context) (float64, error) {
	collections := func() (float64, error) { return e.metric(ctx, "go_gc_duration_seconds_count") }
	begin, err := collections()
	if err != nil {
		return 0, err
	}
	for now := begin; now < begin+3; {
		for range 200 {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.gatewayURL("default")+"/none", nil)
			if err != nil {
				return 0, err
			}
			resp, err := e.rest.Do(req)
			if err != nil {
				return 0, err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if now, err = collections(); err != nil {
			return 0, err
		}
	}
	next, err := e.metric(ctx, "go_memstats_next_gc_bytes")
	return next / 2, err
}

// metric reads a figure of the gateway.
func (e *ends) metric(ctx context.Context, name string) (float64, error) {
	data, err := fetch(ctx, http.DefaultClient, &bytes.Buffer{}, http.MethodGet, e.metrics, nil, name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// fetch sends a request and reads the whole answer into a buffer. The answer must be a success and contain the text want. A reused buffer
// excludes the cost of growing it, which belongs to neither side, from the measurement.
func fetch(ctx context.Context, c *http.Client, into *bytes.Buffer, method, url string, body []byte, want string) ([]byte, error) {
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
	into.Reset()
	if _, err := into.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	data := into.Bytes()
	if resp.StatusCode/100 != 2 || !bytes.Contains(data, []byte(want)) {
		return nil, fmt.Errorf("%s %s answered %s: %.500s", method, url, resp.Status, data)
	}
	return data, nil
}

func rawGet(c *http.Client, url string, t target) call {
	answer := &bytes.Buffer{}
	return func(ctx context.Context) error {
		_, err := fetch(ctx, c, answer, http.MethodGet, url, nil, `"`+t.name+`"`)
		return err
	}
}

// rawList counts the items of the first answer, and then expects answers of that length, because decoding each answer would distort the
// measurement.
func rawList(c *http.Client, url string, want int) call {
	length, answer := 0, &bytes.Buffer{}
	return func(ctx context.Context) error {
		data, err := fetch(ctx, c, answer, http.MethodGet, url, nil, `"items"`)
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
		_, err := fetch(ctx, c, &bytes.Buffer{}, http.MethodPost, url, body, `"resourceVersion"`)
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
			data, err := fetch(ctx, e.rest, answer, http.MethodGet, url+"&pageToken="+token, nil, `"items"`)
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
