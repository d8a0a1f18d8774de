package raycluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/test/raytest"
)

// TestHowErrorsOfChildrenAreSorted tells what the user has to see from what is over soon and what only the API server knows.
func TestHowErrorsOfChildrenAreSorted(t *testing.T) {
	roles := schema.GroupResource{Resource: "roles"}
	controlled := &apply.NotOwnedError{Controller: &metav1.OwnerReference{Kind: "ConfigMap", Name: "x"}}
	cases := map[string]struct {
		err        error
		exists     bool
		users      bool
		wantReason string // of the condition; empty for none
		wantErrs   int    // handed to the work queue
		wantWait   time.Duration
	}{
		"forbidden":                        {err: apierrors.NewForbidden(roles, "r", nil), wantReason: "FailedToCreate", wantWait: foreignRetry},
		"forbidden to change":              {err: apierrors.NewForbidden(roles, "r", nil), exists: true, wantReason: "FailedToUpdate", wantWait: foreignRetry},
		"somebody else's":                  {err: controlled, exists: true, wantReason: "FailedToCreate", wantWait: foreignRetry},
		"somebody else's, may be a user's": {err: controlled, users: true, wantReason: "FailedToCreate", wantWait: foreignRetry},
		"nobody's":                         {err: &apply.NotOwnedError{}, wantReason: "FailedToCreate", wantWait: foreignRetry},
		"a user's own":                     {err: &apply.NotOwnedError{}, users: true},
		"being deleted":                    {err: apply.ErrBeingDeleted, exists: true, wantReason: "FailedToUpdate", wantWait: foreignRetry},
		"changed in between":               {err: apierrors.NewConflict(roles, "r", nil), exists: true, wantWait: cacheLag},
		"gone in between":                  {err: apierrors.NewNotFound(roles, "r"), exists: true, wantWait: cacheLag},
		"no namespace":                     {err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"), wantReason: "FailedToCreate", wantWait: foreignRetry},
		"the API server has a moment":      {err: apierrors.NewInternalError(errors.New("etcd")), wantErrs: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &children{clock: clocktesting.NewFakeClock(raytest.Epoch.Time), memory: newChildMemory()}
			s := &scope{cluster: raytest.RayCluster("ns/demo")}
			st := c.memory.of(s.cluster.UID, "Role r")
			want := child{failed: "FailedToCreate", failedUpdate: "FailedToUpdate", users: tc.users}
			c.refused(s, st, want, tc.exists, fmt.Errorf("writing: %w", tc.err))
			var reason string
			if len(s.children) > 0 {
				reason = s.children[0].reason
			}
			if diff := cmp.Diff([]any{tc.wantReason, tc.wantErrs, tc.wantWait}, []any{reason, len(s.errs), s.lookAgain}); diff != "" {
				t.Errorf("reason, errors and time to look again (-want +got):\n%s", diff)
			}
			if found := st.found == s.cluster.Generation; found != (name == "a user's own") {
				t.Errorf("taken for the user's: %t", found)
			}
		})
	}
}
