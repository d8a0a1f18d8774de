package authn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestReviewAccounts(t *testing.T) {
	ok := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"raygate"},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:ml:train", Groups: []string{"system:masters"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"a"}}},
	}
	change := func(f func(s *authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
		s := ok
		f(&s)
		return s
	}
	away := errors.New("away")
	for name, tc := range map[string]struct {
		status authenticationv1.TokenReviewStatus
		err    error
		want   string // the error; empty for none
	}{
		"a ServiceAccount":             {ok, nil, ""},
		"an invalid token":             {change(func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }), nil, "not a valid token"},
		"a token for another":          {change(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"vault"} }), nil, "not a valid token"},
		"a server without audiences":   {change(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }), nil, "not a valid token"},
		"a person":                     {change(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "ada" }), nil, "not a valid token"},
		"an API server that is away":   {ok, away, "away"},
		"a name that only looks alike": {change(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "system:serviceaccount:ml" }), nil, "not a valid token"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked authenticationv1.TokenReviewSpec
			identify := NewTokens(ReviewAccounts(func(_ context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
				asked = review.Spec
				return &authenticationv1.TokenReview{Status: tc.status}, tc.err
			}, []string{"raygate", "ray"}), nil)
			c, err := identify(&http.Request{Header: http.Header{"Authorization": {"Bearer secret"}}}).Lookup(t.Context())
			if asked.Token != "secret" || !slices.Equal(asked.Audiences, []string{"raygate", "ray"}) {
				t.Errorf("asked about %v", asked.Audiences)
			}
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") || apierrors.IsUnauthorized(err) != (tc.err == nil) {
					t.Errorf("caller %v, error %v", c, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"system:serviceaccounts", "system:serviceaccounts:ml", "system:authenticated"}; c.Name() != "system:serviceaccount:ml:train" || !slices.Equal(c.Groups(), want) || len(c.user.Extra) > 0 {
				t.Errorf("the caller is %s of %v", c.Name(), c.Groups())
			}
		})
	}
}
