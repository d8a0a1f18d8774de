package authn

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// systemPrefix begins the names of users and groups that Kubernetes itself gives out.
const systemPrefix = "system:"

// ReviewJWT returns a SelfReview that verifies the caller's token itself instead of asking the API server. Tokens of users and groups that Kubernetes
// itself gives out are unauthorized. Tokens that no issuer in a knows are for others; a nil others refuses them. An error of a that is ServiceUnavailable is
// returned as it is; any other refuses the token.
func ReviewJWT(a authenticator.Token, others SelfReview) SelfReview {
	return func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		answer, ok, err := a.AuthenticateToken(ctx, CallerFrom(ctx).token)
		switch {
		case err == nil && !ok && others != nil:
			return others(ctx)
		case apierrors.IsServiceUnavailable(err):
			return nil, err
		case err != nil || !ok:
			return nil, refusalOf(err)
		case ownedByKubernetes(answer.User):
			return nil, refusal(fmt.Sprintf("user %q is not accepted: names of users and groups from an identity provider must not begin with %q; change the claim mappings",
				answer.User.GetName(), systemPrefix))
		}
		review := &authenticationv1.SelfSubjectReview{}
		u := answer.User
		review.Status.UserInfo = authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: map[string]authenticationv1.ExtraValue{}}
		for key, values := range u.GetExtra() {
			review.Status.UserInfo.Extra[key] = values
		}
		return review, nil
	}
}

// ownedByKubernetes reports whether the user or a group has a name that Kubernetes itself gives out, such as system:masters. The group of all
// authenticated users adds nothing.
func ownedByKubernetes(u user.Info) bool {
	return strings.HasPrefix(u.GetName(), systemPrefix) || slices.ContainsFunc(u.GetGroups(), func(g string) bool {
		return strings.HasPrefix(g, systemPrefix) && g != user.AllAuthenticated
	})
}

// refusal is why the gateway itself refuses a token. It is Unauthorized, as a refusal by Kubernetes, and its text is for the caller; it has no token.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// Unwrap returns what rpcstatus and this package make of it.
func (r refusal) Unwrap() []error {
	return []error{&rpcstatus.Error{Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED", Message: string(r)}, apierrors.NewUnauthorized(string(r))}
}

// refusalOf returns why a token is refused.
func refusalOf(err error) refusal {
	if err == nil {
		return "the token is from no issuer that this gateway trusts: log in again"
	}
	return refusal("the token is not accepted: " + err.Error())
}

// NewEither returns the Identifier for callers with bearer tokens or certificates: tokens identifies requests with an Authorization header, proven
// those without.
func NewEither(tokens, proven Identifier) Identifier {
	return func(r *http.Request) Identity {
		switch {
		case r.Header.Get("Authorization") != "":
			return tokens(r)
		case !HasCertificate(r):
			return Identity{Err: ErrNoLogin}
		}
		return proven(r)
	}
}
