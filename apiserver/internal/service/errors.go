package service

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// StatusRows are the errors of the packages that a service calls, for the status table.
func StatusRows() []rpcstatus.Row {
	return []rpcstatus.Row{
		{Err: authn.ErrNoCredentials, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrBadCredentials, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrBadSecret, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrNoIdentity, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrPrivileged, Code: codes.PermissionDenied, Reason: "FORBIDDEN"},
		{Err: authn.ErrOwnCredentials, Code: codes.Unavailable, Reason: "GATEWAY_CREDENTIALS", RetryAfter: 10 * time.Second},
		{Err: store.ErrPageToken, Code: codes.InvalidArgument, Reason: "INVALID_ARGUMENT", Field: "page_token"},
		{Err: store.ErrPageTokenExpired, Code: codes.InvalidArgument, Reason: "PAGE_TOKEN_EXPIRED", Field: "page_token"},
		{Err: store.ErrResumeToken, Code: codes.InvalidArgument, Reason: "INVALID_ARGUMENT", Field: "resume_token"},
		{Err: store.ErrRequestIDReused, Code: codes.AlreadyExists, Reason: "REQUEST_ID_REUSED"},
		{Err: store.ErrVersionRequired, Code: codes.InvalidArgument, Reason: "VERSION_REQUIRED", Field: "metadata.resourceVersion"},
		{Err: store.ErrSlowWatcher, Code: codes.ResourceExhausted, Reason: "SLOW_CLIENT"},
		{Err: store.ErrNotServed, Code: codes.Unimplemented, Reason: "KIND_NOT_INSTALLED"},
		{Err: store.ErrFutureVersion, Code: codes.InvalidArgument, Reason: "VERSION_NOT_REACHED", Field: "x-min-resource-version"},
		{Err: store.ErrBehind, Code: codes.Unavailable, Reason: "VERSION_NOT_REACHED", RetryAfter: time.Second},
		{Err: store.ErrNotSynced, Code: codes.Unavailable, Reason: "NOT_READY", RetryAfter: time.Second},
	}
}
