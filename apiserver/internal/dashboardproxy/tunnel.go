package dashboardproxy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/headpod"
)

// tunnelIdle is how long a tunnel without bytes stays open. Ray's clients and browsers send something more often.
const tunnelIdle = 10 * time.Minute

// Tunnel connects the caller by a WebSocket to a TCP port that a cluster declares for its head, by number or name. Binary messages have the bytes, cut
// anywhere. The caller needs the right to create, because a port such as Ray Client's runs programs. Bytes pass unchanged: a cluster with a token asks the
// caller for it. An error means that nothing has been answered.
func (p *Proxy) Tunnel(w http.ResponseWriter, r *http.Request, key types.NamespacedName, port string) error {
	if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "NOT_A_WEBSOCKET", Message: "a tunnel is a WebSocket; raygate session opens one"}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if err := p.mayKnow(ctx, key); err != nil {
		return err
	}
	d, err := p.authorized(ctx, key, "create")
	if err != nil {
		return err
	}
	head, err := headpod.Declared(d.Cluster, rpcstatus.Quoted(port))
	if err != nil {
		return rpcstatus.BadField("port", "RayCluster %s: %v", key.Name, err)
	}
	if err := p.mayForward(ctx, d.Cluster); err != nil {
		return err
	}
	pod, err := p.connect(ctx, d.Cluster, head)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Opening a tunnel failed", "RayCluster", klog.KRef(key.Namespace, key.Name), "port", head.Port, "err", err)
		return cmp.Or[error](translated(ctx, err), &rpcstatus.Error{
			Code: codes.Unavailable, Reason: "PORT_UNAVAILABLE", RetryAfter: retryAfter, Message: fmt.Sprintf("nothing answers at port %s of the head of RayCluster %s", port, key.Name),
		})
	}
	defer func() { _ = pod.Close() }()
	// The server has checked the Origin, for all paths by one rule.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // Accept has answered
	}
	defer p.endWithRights(ctx, cancel, d, nil).Stop()
	p.join(ctx, ws, pod)
	return nil
}

// join copies bytes both ways, until one end closes, nothing is sent for a while, ctx ends, or the process stops.
func (p *Proxy) join(ctx context.Context, ws *websocket.Conn, pod io.ReadWriteCloser) {
	copying, stop := context.WithCancel(context.WithoutCancel(ctx)) // which lives until the reason is sent
	defer stop()
	client, timer, ended := websocket.NetConn(copying, ws, websocket.MessageBinary), time.NewTimer(tunnelIdle), make(chan struct{}, 2)
	defer timer.Stop()
	for _, way := range []struct {
		to   io.Writer
		from io.Reader
	}{{pod, client}, {client, pod}} {
		go func() {
			_, _ = io.Copy(way.to, watched{way.from, timer})
			ended <- struct{}{}
		}()
	}
	code, reason := websocket.StatusNormalClosure, ""
	select {
	case <-ended:
	case <-ctx.Done():
		code, reason = websocket.StatusPolicyViolation, "the permission has ended"
	case <-timer.C:
		code, reason = websocket.StatusGoingAway, "nothing was sent for "+tunnelIdle.String()
	case <-p.Stop:
		code, reason = websocket.StatusGoingAway, "the gateway stops"
	}
	_ = ws.Close(code, reason)
}

// watched restarts a timer with each read.
type watched struct {
	io.Reader
	timer *time.Timer
}

// Read implements io.Reader.
func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.timer.Reset(tunnelIdle)
	return n, err
}
