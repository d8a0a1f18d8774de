package interceptor

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// ErrDraining ends the calls that stay open of a server that is going away.
var ErrDraining = &rpcstatus.Error{
	Code: codes.Unavailable, Reason: "DRAINING", Message: "the gateway is shutting down: connect again and resume with the last resume_token", RetryAfter: time.Second,
}

// Drain ends streams, and unary calls that are long, with ErrDraining when stop is done; short calls finish by themselves.
func Drain(stop context.Context, long func(method string) bool) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if c.stream == nil && !long(c.Method) {
			return next(ctx)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stop, func() { cancel(ErrDraining) })()
		err := next(ctx)
		if err != nil && errors.Is(context.Cause(ctx), ErrDraining) {
			return ErrDraining
		}
		return err
	}
}
