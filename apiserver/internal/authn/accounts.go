package authn

import (
	"context"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TokenReview asks the API server about a token, with the gateway's own credentials.
type TokenReview func(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)

// ReviewAccounts returns a SelfReview for tokens of ServiceAccounts that were issued for one of the audiences. All other tokens are unauthorized, also
// those for the API server itself: a caller that sends its token to the gateway need not trust it with more.
func ReviewAccounts(review TokenReview, audiences []string) SelfReview {
	return func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: CallerFrom(ctx).token, Audiences: audiences}}
		answer, err := review(ctx, asked)
		if err != nil {
			return nil, err
		}
		// An API server may know authenticators without audiences. It then names none in its answer.
		forGateway := slices.ContainsFunc(answer.Status.Audiences, func(a string) bool { return slices.Contains(audiences, a) })
		namespace, name, err := serviceaccount.SplitUsername(answer.Status.User.Username)
		if !answer.Status.Authenticated || !forGateway || err != nil {
			return nil, refusal("the token is from no issuer that this gateway trusts, and not a valid token of a ServiceAccount for its audience")
		}
		// The groups follow from the name. The rest describes the token and its Pod, and takes rights of its own to impersonate.
		self := &authenticationv1.SelfSubjectReview{}
		self.Status.UserInfo = authenticationv1.UserInfo{
			Username: serviceaccount.MakeUsername(namespace, name), Groups: append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated),
		}
		return self, nil
	}
}
