package flowcontrol

import (
	"context"
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// silent identifies callers as names does, but its API server never answers. The questions go to asked.
func silent(asked chan<- string) authn.Identifier {
	return func(r *http.Request) authn.Identity {
		id := names(r)
		id.Lookup = func(ctx context.Context) (*authn.Caller, error) {
			asked <- r.Header.Get("Authorization")
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return id
	}
}

func request(token, address string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}, RemoteAddr: address + ":1"}
}

// Made-up tokens take all places of those whom nobody knows. Callers of whom there is an old verdict have places of their own, and when these are taken the
// old verdict counts.
func TestMadeUpTokensKeepNobodyOut(t *testing.T) {
	asked := make(chan string, 100)
	e := New(Options{Identifier: silent(asked), Table: rpcstatus.NewTable(rows...), Limits: Limits{Unidentified: 2}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, token := range []string{"slow-x", "slow-y"} {
		go func() { _, _, _ = e.Enter(ctx, request(token, "192.0.2.1"), false) }()
		<-asked
	}
	if _, _, err := e.Enter(ctx, request("slow-z", "192.0.2.1"), false); err == nil {
		t.Error("a third made-up token found a place")
	}
	for range 2 {
		go func() { _, _, _ = e.Enter(ctx, request("slow-old-ada", "192.0.2.2"), false) }()
		if got := <-asked; got != "Bearer slow-old-ada" {
			t.Errorf("asked about %q", got)
		}
	}
	_, v, err := e.Enter(ctx, request("slow-old-ada", "192.0.2.2"), false)
	if err != nil {
		t.Fatal("a caller with an old verdict was kept out:", err)
	}
	v.Leave()
}

// One address asks the API server about so many new tokens a second, and another is not held up by that.
func TestNewTokensOfOneAddress(t *testing.T) {
	e := New(Options{Identifier: names, Table: rpcstatus.NewTable(rows...)})
	refused := 0
	for range 2 * unknownBurst {
		if _, _, err := e.Enter(t.Context(), request("slow-nobody", "192.0.2.1"), false); status.Code(e.refuse(t.Context(), err)) == codes.ResourceExhausted {
			refused++
		}
	}
	if refused == 0 {
		t.Error("one address may ask about any number of tokens")
	}
	if _, _, err := e.Enter(t.Context(), request("slow-bob", "192.0.2.2"), false); err != nil {
		t.Error("another address is held up:", err)
	}
}

// Health checks need no credentials. A flood of them fails none from another address.
func TestAnonymousFlood(t *testing.T) {
	usual := openLimits
	t.Cleanup(func() { openLimits = usual })
	openLimits.CallerRate = 0.01 // so that a slow machine does not keep the rate
	conn, _ := start(t, Options{Limits: Limits{Calls: 3, CallerRate: 1, CallerBurst: 3}})
	refused := 0
	for range openLimits.CallerBurst + 1 {
		_, err := healthpb.NewHealthClient(conn).Check(as(t, ""), &healthpb.HealthCheckRequest{})
		if status.Code(err) == codes.ResourceExhausted {
			refused++
		}
	}
	if refused == 0 {
		t.Error("there is no limit")
	}
	other, err := grpc.NewClient("passthrough:///"+conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext(ctx, "tcp", address)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := healthpb.NewHealthClient(other).Check(as(t, ""), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error("a probe from another address failed:", err)
	}
}
