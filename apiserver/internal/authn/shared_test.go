package authn

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"
)

func requestTo(path, authorization string) *http.Request {
	r := &http.Request{URL: &url.URL{Path: path}, Header: http.Header{}}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

func fixed(name string) Identifier {
	caller := NewCaller(user.DefaultInfo{Name: name}, "")
	return func(*http.Request) Identity { return Identity{Caller: caller} }
}

// known is the caller without a lookup, identified with one.
func known(i Identifier, r *http.Request) (*Caller, error) {
	id := i(r)
	return id.Caller, id.Err
}

func identified(ctx context.Context, i Identifier, r *http.Request) (*Caller, error) {
	id := i(r)
	if id.Lookup == nil {
		return id.Caller, id.Err
	}
	return id.Lookup(ctx)
}

func TestByPath(t *testing.T) {
	b := ByPath([]string{"/apis/v1/", "/proto."}, fixed("v1"), fixed("v2"))
	for path, want := range map[string]string{
		"/apis/v1/clusters": "v1", "/proto.ClusterService/GetCluster": "v1", "/apis/v2/clusters": "v2", "/raygate.v2.ClusterService/GetCluster": "v2", "": "v2",
		"/apis/v1/../v2/clusters": "v2", "//apis/v2/apis/v1/": "v2", "/apis/v1": "v2", "/protocol": "v2",
	} {
		if c, _ := known(b, requestTo(path, "")); c.Name() != want {
			t.Errorf("%s: want %s, got %s", path, want, c)
		}
	}
}

func TestSecret(t *testing.T) {
	s := NewSecret("12345", fixed("all"))
	for header, want := range map[string]error{
		"12345": nil, "Bearer 12345": nil, "bearer 12345": nil, " 12345 ": nil, "": ErrNoCredentials, "1234": ErrBadSecret, "Basic 12345": ErrBadSecret, "Bearer": ErrBadSecret, "12345 12345": ErrBadSecret,
	} {
		c, err := known(s, requestTo("/", header))
		if !errors.Is(err, want) || (err == nil) != (c != nil) {
			t.Errorf("%q: want %v, got %v", header, want, err)
		}
	}
}

// TestAccountRenewsItsToken asks for a token once, and again before that one ends.
func TestAccountRenewsItsToken(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	asked, refusal := 0, error(nil) // in the goroutine of one question at a time
	a := NewAccount("ns", "sa", func(_ context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
		asked++
		request.Status = authenticationv1.TokenRequestStatus{Token: "token", ExpirationTimestamp: metav1.NewTime(clock.Now().Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second))}
		return request, refusal
	}, clock)
	if c, err := known(a, nil); c != nil || err != nil {
		t.Error("knows the account before there is a token", c, err)
	}
	for range 3 {
		c, err := identified(t.Context(), a, nil)
		if err != nil || c.Name() != "system:serviceaccount:ns:sa" || c.token != "token" || asked != 1 {
			t.Fatal(c, err, asked)
		}
		if again, _ := known(a, nil); again != c {
			t.Error("does not know the account")
		}
	}
	// The token is used until shortly before its end, while another one is asked for beside the calls.
	refusal = ErrOwnCredentials
	clock.SetTime(clock.Now().Add(51 * time.Minute))
	if c, _ := known(a, nil); c == nil || c.token != "token" {
		t.Error("does not use a token that is good for nine minutes")
	}
	clock.SetTime(clock.Now().Add(8*time.Minute + 45*time.Second))
	if c, _ := known(a, nil); c != nil {
		t.Error("uses a token that ends in seconds")
	}
	if _, err := identified(t.Context(), a, nil); !errors.Is(err, ErrOwnCredentials) {
		t.Error(err)
	}
	impersonated := NewAccount("ns", "sa", nil, clock)
	if c, err := known(impersonated, nil); err != nil || c.Name() != "system:serviceaccount:ns:sa" || c.token != "" || len(c.Groups()) != 3 {
		t.Error(c, err)
	}
}

// A request for a token that gets no answer holds nobody up while there is a token, and ends by itself.
func TestSlowTokenRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, asked := false, 0
		a := NewAccount("ns", "sa", func(ctx context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
			if asked++; silent {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			request.Status = authenticationv1.TokenRequestStatus{Token: "token", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))}
			return request, nil
		}, nil)
		if _, err := identified(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		silent = true
		time.Sleep(55 * time.Minute)
		begin := time.Now()
		for range 100 {
			if c, err := known(a, nil); c == nil || err != nil {
				t.Fatal("no caller beside a slow request", err)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("callers waited %s", took)
		}
		if synctest.Wait(); asked != 2 {
			t.Errorf("asked %d times, want once for the first token and once beside the calls", asked)
		}
		time.Sleep(5 * time.Minute) // the token has ended
		begin = time.Now()
		if _, err := identified(context.Background(), a, nil); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > askTime {
			t.Errorf("a call waited %s for a token", took)
		}
	})
}
