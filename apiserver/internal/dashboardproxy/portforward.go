package dashboardproxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/pkg/headpod"
)

// portForwardProtocol is the protocol of the API server's port-forwards.
const portForwardProtocol = "portforward.k8s.io"

// connect opens a connection to a port of a cluster's head Pod. With KubernetesProxy it is a port-forward by the API server, with the caller's credentials.
func (p *Proxy) connect(ctx context.Context, rc *rayv1.RayCluster, head headpod.Head) (io.ReadWriteCloser, error) {
	to, err := p.addressOf(ctx, rc, head)
	if err != nil {
		return nil, err
	}
	if p.apiServer == nil {
		return p.dial(ctx, "tcp", to.String())
	}
	return p.forward(ctx, rc.Namespace, rc.Status.Head.PodName, head.Port)
}

// mayForward returns the reason why the context's caller may not use port-forwards to the head Pod, where connect makes them.
func (p *Proxy) mayForward(ctx context.Context, rc *rayv1.RayCluster) error {
	if p.apiServer == nil {
		return nil
	}
	return p.Authorizer.Authorize(ctx, authz.Access{Verb: "create", Resource: "pods", Subresource: "portforward", Namespace: rc.Namespace, Name: rc.Status.Head.PodName})
}

// forward opens a port-forward to a port of a Pod.
func (p *Proxy) forward(ctx context.Context, namespace, pod string, port int32) (io.ReadWriteCloser, error) {
	roundTripper, upgrader, err := spdy.RoundTripperFor(p.Caller)
	if err != nil {
		return nil, fmt.Errorf("making the transport of port-forwards: %w", err)
	}
	url := p.apiServer.JoinPath("api/v1/namespaces", namespace, "pods", pod, "portforward")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("making the request of a port-forward: %w", err)
	}
	connection, _, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: roundTripper}, r, portForwardProtocol)
	if err != nil {
		return nil, err
	}
	forward, err := forwarded(connection, port)
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return forward, nil
}

// portForward is one forwarded connection. Closing it closes all of its streams.
type portForward struct {
	httpstream.Stream
	connection httpstream.Connection
}

// Close implements io.Closer.
func (f portForward) Close() error { return f.connection.Close() }

// forwarded makes the two streams of a forwarded connection. Kubernetes reports on the first one why a connection failed; it then ends.
func forwarded(connection httpstream.Connection, port int32) (io.ReadWriteCloser, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = failures.Close() // for writing
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	go func() {
		if n, _ := io.Copy(io.Discard, failures); n > 0 {
			_ = connection.Close()
		}
	}()
	return portForward{data, connection}, nil
}
