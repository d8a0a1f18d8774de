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

// Status translates what a dashboard.Client says for the status table. Addresses and causes stay out of the text; what Ray itself says is in it. Other
// errors pass.
func Status(ctx context.Context, cluster string, err error) error {
	var e *dashboard.Error
	var known *rpcstatus.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, authn.ErrOwnCredentials):
		return authn.ErrOwnCredentials
	case !errors.As(err, &e):
		return err
	}
	out := &rpcstatus.Error{Message: e.Message}
	switch {
	case errors.Is(e.Kind, dashboard.ErrNotFound):
		out.Code, out.Reason = codes.NotFound, "SUBMISSION_NOT_FOUND"
		out.Message = fmt.Sprintf("RayCluster %s has no record of the job: %s", cluster, e.Message)
	case errors.Is(e.Kind, dashboard.ErrDuplicate):
		out.Code, out.Reason = codes.AlreadyExists, "ALREADY_EXISTS"
		out.Message = fmt.Sprintf("RayCluster %s has a job of this submissionId already: choose another", cluster)
	case errors.Is(e.Kind, dashboard.ErrInvalid):
		out.Code, out.Reason = codes.InvalidArgument, "REFUSED_BY_RAY"
		out.Message = "Ray refuses the request: " + e.Message
	case errors.Is(e.Kind, dashboard.ErrTooLarge):
		out.Code, out.Reason = codes.ResourceExhausted, "TOO_LARGE"
		out.Message = fmt.Sprintf("the answer of RayCluster %s is larger than the gateway reads", cluster)
	case e.Proxy && errors.Is(e.Kind, dashboard.ErrUnauthenticated):
		out.Code, out.Reason = codes.Unauthenticated, "UNAUTHENTICATED"
	case e.Proxy && errors.Is(e.Kind, dashboard.ErrForbidden):
		out.Code, out.Reason = codes.PermissionDenied, "FORBIDDEN"
	case errors.Is(e.Kind, dashboard.ErrUnauthenticated), errors.Is(e.Kind, dashboard.ErrForbidden):
		out.Code, out.Reason = codes.FailedPrecondition, "CLUSTER_TOKEN_REFUSED"
		out.Message = fmt.Sprintf("RayCluster %s does not accept the token of its Secret: %s", cluster, e.Message)
	default:
		return unavailable(cluster, what(e))
	}
	return out
}

func unavailable(cluster, why string) error {
	return &rpcstatus.Error{
		Code: codes.Unavailable, Reason: "DASHBOARD_UNAVAILABLE", RetryAfter: retryAfter,
		Message: fmt.Sprintf("the dashboard of RayCluster %s does not answer: %s", cluster, why),
	}
}

// what is an answer in words, without addresses.
func what(e *dashboard.Error) string {
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
