package authn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// A question that the API server refuses for one caller, such as one about too many requests, makes no old verdict of another caller stand longer. An API
// server that cannot be reached does.
func TestRefusedQuestionIsTheCallersOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		failure error
		asked   bool
	}{
		"too many requests": {apierrors.NewTooManyRequests("slow down", 1), true},
		"not reached":       {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			v, asked := authn.NewVerdicts[string](now), 0
			get := func(key string, err error) string {
				got, _ := v.Get(t.Context(), key, func(context.Context) (authn.Answer[string], error) {
					asked++
					return authn.Answer[string]{Value: fmt.Sprint(asked), Fresh: time.Second, Stale: time.Minute}, err
				})
				return got
			}
			get("greedy", nil)
			get("honest", nil)
			now.SetTime(now.Now().Add(1500 * time.Millisecond))
			if got := get("greedy", tc.failure); got != "1" {
				t.Errorf("the greedy caller gets %q, want the old verdict", got)
			}
			before := asked
			get("greedy", nil)
			if asked != before {
				t.Error("the question was asked again at once")
			}
			if get("honest", nil); (asked > before) != tc.asked {
				t.Errorf("the honest caller was asked about: %v, want %v", asked > before, tc.asked)
			}
		})
	}
}

// A caller who asks for ever new things pushes out nothing of what is known of others.
func TestGreedyCallerPushesOutNobody(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	v := authn.NewVerdicts[int](now)
	get := func(key string) (asked bool) {
		_, err := v.Get(t.Context(), key, func(context.Context) (authn.Answer[int], error) {
			asked = true
			return authn.Answer[int]{Fresh: time.Hour}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return asked
	}
	honest, greedy := strings.Repeat("h", 32)+"get pods", strings.Repeat("g", 32)
	get(honest)
	for n := range 30000 {
		get(greedy + fmt.Sprint(n))
	}
	if get(honest) {
		t.Error("the verdict of another caller is gone")
	}
	if get(greedy + "0") {
		t.Error("nothing is kept of the greedy caller")
	}
}

// A caller whose verdict is outdated does not wait for an API server that hangs.
func TestOldVerdictIsUsedWhileTheQuestionHangs(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	v, hang := authn.NewVerdicts[string](now), make(chan struct{})
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for n, ask := range []func(context.Context) (authn.Answer[string], error){
		func(context.Context) (authn.Answer[string], error) {
			return authn.Answer[string]{Value: "old", Fresh: time.Second, Stale: time.Hour}, nil
		},
		func(context.Context) (authn.Answer[string], error) {
			<-hang
			return authn.Answer[string]{}, errors.New("too late")
		},
	} {
		if got, err := v.Get(ctx, "key", ask); got != "old" || err != nil {
			t.Errorf("call %d: %q, %v", n, got, err)
		}
		now.SetTime(now.Now().Add(time.Minute))
	}
}
