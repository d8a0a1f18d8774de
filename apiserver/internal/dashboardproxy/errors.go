package dashboardproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/dashboard"
)

// retryAfter is the hint while a dashboard is away.
const retryAfter = 2 * time.Second

// refusal is the status of an error of a dashboard.Client. message is a format with the name of the cluster and the message of Ray or the
// proxy.
type refusal struct {
	kind    error
	code    codes.Code
	reason  string
	message string
}

// byRay are the refusals of Ray itself, byProxy those of the API server in between.
var (
	byRay = []refusal{
		{dashboard.ErrNotFound, codes.NotFound, "SUBMISSION_NOT_FOUND", "RayCluster %[1]s has no record of the job: %[2]s"},
		{dashboard.ErrDuplicate, codes.AlreadyExists, "ALREADY_EXISTS", "RayCluster %[1]s has a job of this submissionId already: choose another"},
		{dashboard.ErrInvalid, codes.InvalidArgument, "REFUSED_BY_RAY", "Ray refuses the request: %[2]s"},
		{dashboard.ErrTooLarge, codes.ResourceExhausted, "TOO_LARGE", "the answer of RayCluster %[1]s is larger than the gateway reads"},
		{dashboard.ErrUnauthenticated, codes.FailedPrecondition, "CLUSTER_TOKEN_REFUSED", "RayCluster %[1]s does not accept the token of its Secret: %[2]s"},
		{dashboard.ErrForbidden, codes.FailedPrecondition, "CLUSTER_TOKEN_REFUSED", "RayCluster %[1]s does not accept the token of its Secret: %[2]s"},
	}
	byProxy = append([]refusal{
		{dashboard.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED", "%[2]s"},
		{dashboard.ErrForbidden, codes.PermissionDenied, "FORBIDDEN", "%[2]s"},
	}, byRay...)
)

// Status translates an error of a dashboard.Client for the status table. The text contains Ray's own message, but no addresses and causes.
// Other errors are returned unchanged.
func Status(ctx context.Context, cluster string, err error) error {
	if err == nil {
		return nil
	}
	if known := translated(ctx, err); known != nil {
		return known
	}
	e, ok := errors.AsType[*dashboard.Error](err)
	if !ok {
		return err
	}
	refusals := byRay
	if e.Proxy {
		refusals = byProxy
	}
	for _, r := range refusals {
		if errors.Is(e.Kind, r.kind) {
			return &rpcstatus.Error{Code: r.code, Reason: r.reason, Message: fmt.Sprintf(r.message, cluster, e.Message)}
		}
	}
	return unavailable(cluster, describe(e))
}

// translated returns an error that the status table has, or that of the context if it has ended; nil for any other.
func translated(ctx context.Context, err error) error {
	if known, ok := errors.AsType[*rpcstatus.Error](err); ok {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, authn.ErrOwnCredentials) {
		return authn.ErrOwnCredentials
	}
	return nil
}

func unavailable(cluster, why string) error {
	return &rpcstatus.Error{
		Code: codes.Unavailable, Reason: "DASHBOARD_UNAVAILABLE", RetryAfter: retryAfter,
		Message: fmt.Sprintf("the dashboard of RayCluster %s does not answer: %s", cluster, why),
	}
}

// describe describes an answer, without addresses.
func describe(e *dashboard.Error) string {
	switch {
	case e.Code != 0 && e.Message != "":
		return fmt.Sprintf("HTTP %d: %s", e.Code, e.Message)
	case e.Code != 0:
		return fmt.Sprintf("HTTP %d", e.Code)
	case errors.Is(e, context.DeadlineExceeded):
		return "no answer in time"
	default:
		return "it cannot be reached"
	}
}
