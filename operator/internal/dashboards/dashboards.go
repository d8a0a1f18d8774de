package dashboards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/headpod"
)

// tokenFor is how long a token is used before its Secret is read again.
const tokenFor = time.Minute

// Dashboards makes calls to dashboards, with the token of their cluster where that demands one. It is used by pollers only: reading a
// Secret is a request of its own.
type Dashboards struct {
	connect Connect
	live    client.Reader
	clock   clock.PassiveClock

	mu     sync.Mutex
	tokens map[client.ObjectKey]token
}

type token struct {
	value dashboard.Token
	read  time.Time
}

// New returns Dashboards that are reached by c and whose tokens are read from live, which is the API server itself.
func New(c Connect, live client.Reader, k clock.PassiveClock) *Dashboards {
	return &Dashboards{connect: c, live: live, clock: k, tokens: map[client.ObjectKey]token{}}
}

// Site is a dashboard and how to get in.
type Site struct {
	address Address
	// secret has the token; empty for a cluster without token authentication.
	secret string
}

// SiteOf is the dashboard of a cluster at host:port. A cluster that has Kubernetes check tokens is called without one, as KubeRay
// does, which supports that neither for RayJob nor for RayService.
func SiteOf(rc *rayv1.RayCluster, hostPort string) Site {
	st := Site{address: Address{Namespace: rc.Namespace, HostPort: hostPort, Head: headpod.Of(rc)}}
	o := rc.Spec.AuthOptions
	if o == nil || o.Mode != rayv1.AuthModeToken || o.EnableK8sTokenAuth != nil && *o.EnableK8sTokenAuth {
		return st
	}
	if st.secret = names.AuthSecret(rc.Name); o.SecretName != nil && *o.SecretName != "" {
		st.secret = *o.SecretName
	}
	return st
}

// Revision tells sites apart.
func (s Site) Revision() string { return s.address.HostPort + " " + s.secret }

// Call makes one call. A token that is refused is read again for the next.
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
		d.mu.Lock()
		delete(d.tokens, client.ObjectKey{Namespace: s.address.Namespace, Name: s.secret})
		d.mu.Unlock()
	}
	return err
}

func (d *Dashboards) token(ctx context.Context, s Site) (dashboard.Token, error) {
	if s.secret == "" {
		return "", nil
	}
	key, now := client.ObjectKey{Namespace: s.address.Namespace, Name: s.secret}, d.clock.Now()
	d.mu.Lock()
	known, ok := d.tokens[key]
	d.mu.Unlock()
	if ok && now.Sub(known.read) < tokenFor {
		return known.value, nil
	}
	found := &corev1.Secret{}
	if err := d.live.Get(ctx, key, found); err != nil {
		return "", fmt.Errorf("reading the token of the cluster: %w", err)
	}
	value := found.Data[rayv1.AuthTokenSecretKey]
	if len(value) == 0 {
		return "", fmt.Errorf("reading the token of the cluster: Secret %s has no key %s", s.secret, rayv1.AuthTokenSecretKey)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, t := range d.tokens {
		if now.Sub(t.read) >= tokenFor {
			delete(d.tokens, k)
		}
	}
	d.tokens[key] = token{dashboard.Token(value), now}
	return dashboard.Token(value), nil
}
