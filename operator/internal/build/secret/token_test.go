package secret

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestNeeded(t *testing.T) {
	cases := map[string]struct {
		options *rayv1.AuthOptions
		want    bool
	}{
		"no auth":                 {nil, false},
		"token":                   {&rayv1.AuthOptions{Mode: rayv1.AuthModeToken}, true},
		"disabled":                {&rayv1.AuthOptions{Mode: rayv1.AuthModeDisabled}, false},
		"no mode means disabled":  {&rayv1.AuthOptions{}, false},
		"the user's own Secret":   {&rayv1.AuthOptions{Mode: rayv1.AuthModeToken, SecretName: new("mine")}, false},
		"an empty name is none":   {&rayv1.AuthOptions{Mode: rayv1.AuthModeToken, SecretName: new("")}, true},
		"Kubernetes checks":       {&rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)}, false},
		"Kubernetes does not yet": {&rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(false)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Spec(func(s *rayv1.RayClusterSpec) { s.AuthOptions = tc.options }))
			if got := Needed(rc); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}
