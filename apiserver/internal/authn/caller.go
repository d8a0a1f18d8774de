package authn

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"k8s.io/apiserver/pkg/authentication/user"
)

// Mode is a value of --authentication.
type Mode string

// The modes.
const (
	// Passthrough uses the caller's bearer token for everything.
	Passthrough Mode = "passthrough"
	// Impersonate uses the gateway's credentials, impersonating a caller whom a client certificate or a trusted proxy names.
	Impersonate Mode = "impersonate"
	// None uses the gateway's own credentials for everybody. For a laptop.
	None Mode = "none"
)

// Errors of this package.
var (
	// ErrNoCredentials reports a request without credentials.
	ErrNoCredentials = errors.New("send a Kubernetes token as \"Authorization: Bearer TOKEN\"")
	// ErrBadCredentials reports a malformed Authorization header.
	ErrBadCredentials = errors.New("the Authorization header is not \"Bearer TOKEN\"")
	// ErrBadSecret reports an Authorization header that is not the shared secret.
	ErrBadSecret = errors.New("the Authorization header is not the token of this gateway's --v1-token-file")
	// ErrNoIdentity reports that neither a client certificate nor a trusted proxy names the caller.
	ErrNoIdentity = errors.New("connect with a client certificate, or through a proxy, that this gateway trusts")
	// ErrNoLogin reports a request without a token or a client certificate to a gateway that accepts both.
	ErrNoLogin = errors.New("send a token that this gateway trusts, of an identity provider or a ServiceAccount, as \"Authorization: Bearer TOKEN\", or connect with a client certificate")
	// ErrPrivileged reports a caller in system:masters, which bypasses RBAC: if its members were impersonated, every accepted certificate could own the
	// cluster.
	ErrPrivileged = errors.New("members of system:masters are not impersonated: use an identity with RBAC rights")
	// ErrOwnCredentials reports that Kubernetes rejected the gateway's own credentials. Callers cannot fix this.
	ErrOwnCredentials = errors.New("the gateway's own credentials do not suffice for the Kubernetes API server: its administrator must look at its log and its RBAC")
)

// Caller is the sender of a request. It never prints its token.
type Caller struct {
	user  user.DefaultInfo
	token string
	key   string
}

// bearer returns a caller with only a token.
func bearer(token string) *Caller {
	sum := sha256.Sum256([]byte(token))
	return &Caller{token: token, key: string(sum[:])}
}

// NewCaller returns a caller known by name. The token, if there is one, is sent to Kubernetes.
func NewCaller(u user.DefaultInfo, token string) *Caller {
	if token != "" {
		c := bearer(token)
		c.user = u
		return c
	}
	text, _ := json.Marshal(u) // sorts the keys of Extra
	sum := sha256.Sum256(text)
	return &Caller{user: u, key: string(sum[:])}
}

// bearing returns the caller with the token of shown, which has the same key.
func (c *Caller) bearing(shown *Caller) *Caller {
	return &Caller{user: c.user, token: shown.token, key: shown.key}
}

// Name is the user name in Kubernetes. Limits and the audit log use it.
func (c *Caller) Name() string { return c.user.Name }

// Groups are the groups of the user in Kubernetes.
func (c *Caller) Groups() []string { return c.user.Groups }

// Key identifies the caller in caches: a hash of the credentials.
func (c *Caller) Key() string { return c.key }

// String never shows the token.
func (c *Caller) String() string { return c.user.Name }

// GoString never shows the token.
func (c *Caller) GoString() string { return c.user.Name }

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the context's caller, nil when it has none.
func CallerFrom(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}
