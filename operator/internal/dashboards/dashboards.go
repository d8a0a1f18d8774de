// Package dashboards connects to the dashboards of clusters and to the proxies of Ray Serve on their heads: directly or through
// the API server, with the token of the cluster if it requires one. The controllers of RayJobs and RayServices share it. It must
// not be used within a reconcile.
package dashboards

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/secret"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/headpod"
)

// tokenFor is how long a token is used before its Secret is read again.
const tokenFor = time.Minute

// Dashboards calls dashboards, with the token of their cluster if it requires one. Only pollers use it, because reading a Secret
// is an API request of its own.
type Dashboards struct {
	connect Connect
	live    client.Reader
	tokens  *cache.Expiring // dashboard.Token by client.ObjectKey
}

// New returns Dashboards that connect with c. live reads the Secrets with the tokens from the API server.
func New(c Connect, live client.Reader, k clock.Clock) *Dashboards {
	return &Dashboards{connect: c, live: live, tokens: cache.NewExpiringWithClock(k)}
}

// Site is a dashboard with the Secret for its token.
type Site struct {
	address Address
	// secret contains the token; empty for a cluster without token authentication.
	secret string
}

// SiteOf returns the dashboard of a cluster at host:port. If Kubernetes checks the tokens of the cluster, calls have no token.
// KubeRay does the same and supports such clusters neither for RayJob nor for RayService.
func SiteOf(rc *rayv1.RayCluster, hostPort string) Site {
	return Site{address: Address{Namespace: rc.Namespace, HostPort: hostPort, Head: headpod.Of(rc)}, secret: secret.Name(rc)}
}

// Revision changes when address or Secret change.
func (s Site) Revision() string { return s.address.HostPort + " " + s.secret }

// Call makes one call. A rejected token is read again for the next call.
func (d *Dashboards) Call(ctx context.Context, s Site, do func(dashboard.Client) error) error {
	t, err := d.token(ctx, s)
	if err != nil {
		return err
	}
	c, err := d.connect(s.address, t)
	if err != nil {
		return err
	}
	err = do(c)
	if errors.Is(err, dashboard.ErrUnauthenticated) || errors.Is(err, dashboard.ErrForbidden) {
		d.tokens.Delete(client.ObjectKey{Namespace: s.address.Namespace, Name: s.secret})
	}
	return err
}

func (d *Dashboards) token(ctx context.Context, s Site) (dashboard.Token, error) {
	if s.secret == "" {
		return "", nil
	}
	key := client.ObjectKey{Namespace: s.address.Namespace, Name: s.secret}
	if known, ok := d.tokens.Get(key); ok {
		return known.(dashboard.Token), nil
	}
	found := &corev1.Secret{}
	if err := d.live.Get(ctx, key, found); err != nil {
		return "", fmt.Errorf("reading the token of the cluster: %w", err)
	}
	value := dashboard.Token(found.Data[rayv1.AuthTokenSecretKey])
	if len(value) == 0 {
		return "", fmt.Errorf("reading the token of the cluster: Secret %s has no key %s", s.secret, rayv1.AuthTokenSecretKey)
	}
	d.tokens.Set(key, value, tokenFor)
	return value, nil
}
