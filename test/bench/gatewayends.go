package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
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
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
func (s *session) startGateway(ctx context.Context, by side, more ...string) (*ends, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	// No limits for single callers: the benchmark is one of them.
	flags := []string{"--kubeconfig=" + s.kubeconfig, "--grpc-address=" + ports[0], "--http-address=" + ports[1], "--metrics-address=" + ports[2], "--caller-qps=-1", "--v1-cache-templates", "--v1-cache-events"}
	flags = append(flags, more...)
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
	data, err := fetch(ctx, http.DefaultClient, &bytes.Buffer{}, exchange{url: e.metrics, want: name})
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
