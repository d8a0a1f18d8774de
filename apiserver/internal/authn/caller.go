package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
)

// Errors of this package.
var (
	// ErrNoCredentials says that the request carries no bearer token.
	ErrNoCredentials = errors.New("send a Kubernetes token as \"Authorization: Bearer TOKEN\"")
	// ErrBadCredentials says that the Authorization header cannot be read.
	ErrBadCredentials = errors.New("the Authorization header is not \"Bearer TOKEN\"")
)

// Mode is a value of --authentication.
type Mode string

// The modes.
const (
	// Passthrough uses the caller's bearer token for everything.
	Passthrough Mode = "passthrough"
	// None uses the gateway's own credentials for everybody. For a laptop.
	None Mode = "none"
)

// maxTokenLength refuses what is certainly no token before it is hashed and sent on.
const maxTokenLength = 16 << 10

// Caller is who sent a request.
type Caller struct {
	token string
	hash  [sha256.Size]byte
}

// NewCaller returns the caller who bears token.
func NewCaller(token string) *Caller {
	return &Caller{token: token, hash: sha256.Sum256([]byte(token))}
}

// String never shows the token.
func (c *Caller) String() string { return "caller" }

// GoString never shows the token.
func (c *Caller) GoString() string { return "caller" }

// ParseBearer reads the value of an Authorization header.
func ParseBearer(header string) (*Caller, error) {
	if header == "" {
		return nil, ErrNoCredentials
	}
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxTokenLength || !isTokenText(token) {
		return nil, ErrBadCredentials
	}
	return NewCaller(token), nil
}

// isTokenText tells whether text has only visible ASCII: anything else would break the header it is put in.
func isTokenText(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Token returns the bearer token of the context's caller. It is what the Kubernetes client asks on each request.
func Token(ctx context.Context) (string, error) {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok || c == nil {
		return "", ErrNoCredentials
	}
	return c.token, nil
}
