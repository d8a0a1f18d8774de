package rest

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// CallContext returns the context of the call that a request becomes: with the address of its client, the headers that services see (see Metadata), and an end
// at the time that the client gives the call, which cancel must free.
func CallContext(ctx context.Context, r *http.Request, passed map[string]string) (_ context.Context, cancel context.CancelFunc, _ error) {
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		ctx = peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(addr)})
	}
	ctx = metadata.NewIncomingContext(ctx, Metadata(r.Header, passed))
	timeout := r.Header["Grpc-Timeout"]
	if timeout == nil {
		return ctx, func() {}, nil
	}
	ctx, cancel = context.WithCancel(ctx) // AnnotateContext returns no cancel of its own
	timed, err := runtime.AnnotateContext(ctx, noMux, &http.Request{Header: http.Header{"Grpc-Timeout": timeout}}, "")
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return timed, cancel, nil
}

// noMux makes AnnotateContext pass on no headers.
var noMux = runtime.NewServeMux(runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }))

// Metadata returns the metadata that services see of the header of a request: the headers in passed, by canonical names, under their keys. No other header
// reaches them, so that none can be taken for an identity. The values are shared.
func Metadata(header http.Header, passed map[string]string) metadata.MD {
	md := make(metadata.MD, len(passed))
	for name, key := range passed {
		if values := header[name]; len(values) > 0 {
			md[key] = values
		}
	}
	return md
}
