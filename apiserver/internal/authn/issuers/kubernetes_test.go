package issuers

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/test/controlplane"
)

const (
	byClaims = `  claimMappings:
    username: {claim: sub, prefix: "sso:"}
    groups: {claim: groups, prefix: "sso:"}
    uid: {claim: oid}
  claimValidationRules:
  - {claim: hd, requiredValue: example.com}
`
	byExpressions = `  claimMappings:
    username: {expression: 'claims.tenant + "/" + claims.email'}
    groups: {expression: 'dyn(claims.roles).filter(r, r.startsWith("ray-"))'}
    uid: {expression: 'claims.?oid.orValue("")'}
    extra:
    - {key: example.com/team, valueExpression: claims.team}
    - {key: example.com/levels, valueExpression: claims.levels}
  claimValidationRules:
  - {expression: 'claims.?email_verified.orValue(true) == true', message: the address must be verified}
  - {expression: 'claims.tenant in ["a", "b"]', message: the tenant must be a or b}
  userValidationRules:
  - {expression: '!user.username.endsWith("/root@example.com")', message: root is nobody}
  - {expression: 'user.groups.all(g, g != "ray-gone")', message: the group is gone}
`
)

type claims = map[string]any

// One file gives the same users in the API server and, by impersonation, in the gateway, and both refuse the same tokens.
func TestMappingsActAsInKubernetes(t *testing.T) {
	controlplane.SkipShort(t)
	plain, advanced := oidcprovider.New(t), oidcprovider.New(t)
	plain.Mappings, advanced.Mappings = byClaims, byExpressions
	env := controlplane.Start(t, controlplane.Options{
		CRDs: controlplane.NoCRDs, Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true, AuthenticationConfig: write(t, plain.Config(advanced)),
	})
	i, identify := start(t, plain, advanced)
	i.await(t)
	whoAmI := func(ctx context.Context, config *rest.Config) (*authenticationv1.UserInfo, error) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		answer, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return &answer.Status.UserInfo, nil
	}
	byKubernetes := func(token string) (*authenticationv1.UserInfo, error) {
		config := rest.AnonymousClientConfig(env.Config)
		config.BearerToken = token
		return whoAmI(t.Context(), config)
	}
	usual := map[*oidcprovider.Provider]claims{
		plain:    {"hd": "example.com", "oid": "0-1"},
		advanced: {"tenant": "a", "roles": []string{"ray-users", "mail"}, "team": "red", "levels": []string{"1", "2"}},
	}
	for p, changes := range usual { // the API server fetches the keys in the background
		token := p.Token(t, changes)
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
			_, err := byKubernetes(token)
			return err == nil, nil
		})
		if err != nil {
			_, why := ask(t, identify, token)
			t.Fatalf("the API server does not accept the usual token of %s; the gateway: %v", p.URL, why)
		}
	}
	for name, tc := range map[string]struct {
		by      *oidcprovider.Provider
		changes claims
		want    string // the user; empty for a refusal
	}{
		"claims":                           {plain, nil, "sso:1"},
		"one group as text":                {plain, claims{"groups": "ml"}, "sso:1"},
		"no groups":                        {plain, claims{"groups": nil}, "sso:1"},
		"without a uid":                    {plain, claims{"oid": nil}, ""},
		"an id of the token":               {plain, claims{"jti": "7"}, "sso:1"},
		"groups that are numbers":          {plain, claims{"groups": []int{1}}, ""},
		"a required claim of other value":  {plain, claims{"hd": "example.org"}, ""},
		"without the required claim":       {plain, claims{"hd": nil}, ""},
		"without a name":                   {plain, claims{"sub": nil}, ""},
		"expressions":                      {advanced, nil, "a/ada@example.com"},
		"a uid by expression":              {advanced, claims{"oid": "0-1"}, "a/ada@example.com"},
		"one extra value and an empty one": {advanced, claims{"levels": "3", "team": ""}, "a/ada@example.com"},
		"no group that counts":             {advanced, claims{"roles": []string{"mail"}}, "a/ada@example.com"},
		"an extra value that is missing":   {advanced, claims{"team": nil}, ""},
		"against a rule for claims":        {advanced, claims{"tenant": "c"}, ""},
		"against a rule for the user":      {advanced, claims{"email": "root@example.com"}, ""},
		"against a rule for groups":        {advanced, claims{"roles": []string{"ray-gone"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(usual[tc.by])
			maps.Copy(all, tc.changes)
			token := tc.by.Token(t, all)
			want, refusal := byKubernetes(token)
			c, err := ask(t, identify, token)
			if tc.want == "" {
				if !apierrors.IsUnauthorized(refusal) || !apierrors.IsUnauthorized(err) {
					t.Errorf("Kubernetes: %v, the gateway: %v", refusal, err)
				}
				return
			}
			if refusal != nil || err != nil || want.Username != tc.want {
				t.Fatalf("Kubernetes: %+v, %v, the gateway: %v", want, refusal, err)
			}
			got, err := whoAmI(authn.WithCaller(t.Context(), c), authn.CallerConfig(env.Config, authn.Impersonate))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v, the user by the gateway (-want +got):\n%s", err, diff)
			}
		})
	}
}
