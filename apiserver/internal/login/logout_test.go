package login

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

// notify sends a logout token for the sid "a" with changes.
func notify(t *testing.T, l *Login, p *oidcprovider.Provider, changes map[string]any) error {
	t.Helper()
	events := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	claims := map[string]any{"events": events, "jti": "1", "sid": "a", "email": nil, "email_verified": nil, "groups": nil}
	maps.Copy(claims, changes)
	return l.Notify(t.Context(), p.Token(t, claims))
}

// Sessions of two providers have nothing to do with each other, although their users have the same subject. One that is away from the beginning is asked
// again after a while.
func TestTwoProviders(t *testing.T) {
	p, q := oidcprovider.New(t), oidcprovider.New(t)
	l, clock := start(t, p, q)
	q.SetAway(true)
	_, _, err := l.Begin(q.URL, "")
	wantReason(t, err, codes.Unavailable, "PROVIDER_AWAY")
	ofP := logIn(t, l, p)
	if _, ok := errors.AsType[*rpcstatus.InvalidError](notify(t, l, oidcprovider.New(t), nil)); !ok {
		t.Error("a logout token of nobody is an outage while a provider is away")
	}
	q.SetAway(false)
	_, _, err = l.Begin(q.URL, "")
	wantReason(t, err, codes.Unavailable, "PROVIDER_AWAY")
	clock.Step(retryAfter)
	ofQ := logIn(t, l, q)

	sealed, _ := visit(t, l, q)
	_, answer := visit(t, l, p)
	if done, err := l.Finish(t.Context(), sealed, answer); done != nil || err == nil {
		t.Errorf("the answer of one provider ends a login at the other: %v", err)
	}
	clock.Step(defaultInterval)
	q.SetAway(true)
	if _, renewed, err := l.Resume(t.Context(), ofP.Session); renewed == "" || err != nil {
		t.Errorf("a renewal while the other provider is away: %v", err)
	}
	q.SetAway(false)
	if err := notify(t, l, p, map[string]any{"sid": nil}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Resume(t.Context(), ofP.Session); !HasEnded(err) {
		t.Errorf("after the logout token of its provider: %v", err)
	}
	clock.Step(retryAfter)
	if _, renewed, err := l.Resume(t.Context(), ofQ.Session); renewed == "" || err != nil {
		t.Errorf("after a logout token of the other provider: %v", err)
	}
}

func TestBackChannelLogout(t *testing.T) {
	p, stranger := oidcprovider.New(t), oidcprovider.New(t)
	l, clock := start(t, p)
	p.Override(map[string]any{"sid": "a"})
	a := logIn(t, l, p)
	p.Override(map[string]any{"sid": "b"})
	b := logIn(t, l, p)
	logout := func(p *oidcprovider.Provider, changes map[string]any) error { return notify(t, l, p, changes) }
	for name, changes := range map[string]map[string]any{
		"an ID token": {"events": nil}, "with a nonce": {"nonce": "x"}, "for another client": {"aud": "other"}, "expired": {"exp": clock.Now().Add(-time.Minute).Unix()},
	} {
		if err := logout(p, changes); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if logout(stranger, map[string]any{"iss": p.URL}) == nil || l.Notify(t.Context(), "abc") == nil || l.Notify(t.Context(), strings.Repeat("x", maxLogoutToken+1)) == nil {
		t.Error("a foreign logout token is accepted")
	}
	if _, _, err := l.Resume(t.Context(), a.Session); err != nil {
		t.Fatalf("a refused logout token ends the session: %v", err)
	}
	if err := logout(p, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Resume(t.Context(), a.Session); !HasEnded(err) {
		t.Errorf("after the logout token of its sid: %v", err)
	}
	if _, _, err := l.Resume(t.Context(), b.Session); err != nil {
		t.Errorf("the other session: %v", err)
	}
	if err := logout(p, map[string]any{"sid": nil}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Resume(t.Context(), b.Session); !HasEnded(err) {
		t.Errorf("after the logout token of its subject: %v", err)
	}
	clock.Step(time.Second)
	if _, _, err := l.Resume(t.Context(), logIn(t, l, p).Session); err != nil {
		t.Errorf("a later session of the subject: %v", err)
	}
}

// A front-channel logout ends the session whose sid it knows, and no other; a sid that was never seen is not kept.
func TestFrontChannelLogout(t *testing.T) {
	p := oidcprovider.New(t)
	l, _ := start(t, p)
	p.Override(map[string]any{"sid": "a"})
	a := logIn(t, l, p)
	p.Override(map[string]any{"sid": nil})
	without := logIn(t, l, p)
	both := func() (ofA, ofOther error) {
		_, _, ofA = l.Resume(t.Context(), a.Session)
		_, _, ofOther = l.Resume(t.Context(), without.Session)
		return ofA, ofOther
	}
	l.Leave(p.URL, "a") // before this process has seen the session
	if ofA, ofOther := both(); ofA != nil || ofOther != nil {
		t.Fatalf("the sessions: %v, %v", ofA, ofOther)
	}
	for _, other := range [][2]string{{p.URL, ""}, {p.URL, "b"}, {"https://other", "a"}, {"", ""}} {
		l.Leave(other[0], other[1])
	}
	if ofA, ofOther := both(); ofA != nil || ofOther != nil || len(l.ended.Keys()) != 0 {
		t.Fatalf("after the end of others: %v, %v, %d ends", ofA, ofOther, len(l.ended.Keys()))
	}
	l.Leave(p.URL, "a")
	if ofA, ofOther := both(); !HasEnded(ofA) || ofOther != nil {
		t.Errorf("after the end of the first session: %v, %v", ofA, ofOther)
	}
}
