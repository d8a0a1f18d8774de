package service

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// Every sentinel of the packages a service calls has a row; one without would reach the client as a masked INTERNAL.
func TestEverySentinelHasARow(t *testing.T) {
	table := rpcstatus.NewTable(StatusRows()...)
	for err, want := range map[error]codes.Code{
		authn.ErrNoCredentials:    codes.Unauthenticated,
		authn.ErrBadCredentials:   codes.Unauthenticated,
		store.ErrPageToken:        codes.InvalidArgument,
		store.ErrPageTokenExpired: codes.InvalidArgument,
		store.ErrRequestIDReused:  codes.AlreadyExists,
		store.ErrResumeToken:      codes.InvalidArgument,
		store.ErrSlowWatcher:      codes.ResourceExhausted,
		store.ErrVersionRequired:  codes.InvalidArgument,
		store.ErrNotSynced:        codes.Unavailable,
		store.ErrNotServed:        codes.Unimplemented,
		store.ErrFutureVersion:    codes.InvalidArgument,
		store.ErrBehind:           codes.Unavailable,
		errors.New("a bug"):       codes.Internal,
	} {
		st, _ := table.Status(fmt.Errorf("doing something: %w", err), "id")
		if st.Code() != want {
			t.Errorf("%v becomes %v, want %v", err, st.Code(), want)
		}
	}
}
