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
	// ErrNoCredentials says that the request carries nothing that names its caller.
	ErrNoCredentials = errors.New("send a Kubernetes token as \"Authorization: Bearer TOKEN\"")
	// ErrBadCredentials says that the Authorization header cannot be read.
	ErrBadCredentials = errors.New("the Authorization header is not \"Bearer TOKEN\"")
	// ErrBadSecret says that the Authorization header is not the secret that is asked for.
	ErrBadSecret = errors.New("the Authorization header is not the token of this gateway's --v1-token-file")
	// ErrNoIdentity says that neither a client certificate nor a trusted proxy names the caller.
	ErrNoIdentity = errors.New("connect with a client certificate, or through a proxy, that this gateway trusts")
	// ErrPrivileged says that a caller belongs to system:masters, which is beyond RBAC: impersonating its members would make every proof of identity
	// worth the whole cluster.
	ErrPrivileged = errors.New("members of system:masters are not impersonated: use an identity with RBAC rights")
	// ErrOwnCredentials says that Kubernetes refused what the gateway asked on its own account, which no caller can mend.
	ErrOwnCredentials = errors.New("the gateway's own credentials do not suffice for the Kubernetes API server: its administrator must look at its log and its RBAC")
)

// Caller is who sent a request. It never prints its token.
type Caller struct {
	user  user.DefaultInfo
	token string
	key   string
}

// bearer returns the caller with a token, of whom nothing else is known yet.
func bearer(token string) *Caller {
	sum := sha256.Sum256([]byte(token))
	return &Caller{token: token, key: string(sum[:])}
}

// NewCaller returns a caller known by name. A token, if there is one, is what Kubernetes is shown.
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

// Name is the user name that Kubernetes knows, which limits and the audit log go by.
func (c *Caller) Name() string { return c.user.Name }

// Groups are the groups that Kubernetes knows the user to be in.
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
