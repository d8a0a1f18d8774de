package login

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

// board is a Board in memory. It can be away.
type board struct {
	mu   sync.Mutex
	text string
	away bool
}

func (b *board) Update(_ context.Context, change func(string) string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return context.DeadlineExceeded
	}
	b.text = change(b.text)
	return nil
}

// markOf returns what a ticket of a dashboard has of a session.
func markOf(t *testing.T, l *Login, sealed string) *Mark {
	t.Helper()
	m := MarkFrom(l.WithMark(t.Context(), sealed))
	if m == nil {
		t.Fatal("the session has no mark")
	}
	return m
}

// A session that ends at one replica, in whatever way, ends at the others at the next exchange. So do the pages of dashboards, which do not renew it.
func TestEndOnOtherReplicas(t *testing.T) {
	p := oidcprovider.New(t)
	here, clock := start(t, p)
	there, err := New(here.config, nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	there.box = here.box // as of a common key
	b := &board{}
	exchange := func() {
		for _, l := range []*Login{here, there, here} {
			if err := b.Update(t.Context(), l.exchange); err != nil {
				t.Fatal(err)
			}
		}
	}
	notified := func(changes map[string]any) func(*testing.T, *Finished) {
		return func(t *testing.T, _ *Finished) {
			if err := notify(t, there, p, changes); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, end := range map[string]func(*testing.T, *Finished){
		"logout":                    func(t *testing.T, f *Finished) { there.End(t.Context(), f.Session) },
		"logout token of a session": notified(map[string]any{"sid": "logout token of a session"}),
		"logout token of a subject": notified(map[string]any{"sid": nil, "sub": "logout token of a subject"}),
		"refusal to renew": func(t *testing.T, f *Finished) {
			clock.Step(defaultInterval + otherReplica)
			if _, _, err := there.Resume(t.Context(), f.Session); err != nil { // after which this provider refuses the refresh token
				t.Fatal(err)
			}
			there.renewals.Remove(there.renewals.Keys()[0])
			if _, _, err := there.Resume(t.Context(), f.Session); !HasEnded(err) {
				t.Fatalf("the provider has refused: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.Override(map[string]any{"sid": "another", "sub": "another"})
			other := logIn(t, here, p)
			p.Override(map[string]any{"sid": name, "sub": name})
			done := logIn(t, here, p)
			mark, others := markOf(t, here, done.Session), markOf(t, here, other.Session)
			end(t, done)
			if err := here.Check(mark); err != nil {
				t.Fatalf("before the exchange: %v", err)
			}
			exchange()
			if _, _, err := here.Resume(t.Context(), done.Session); !HasEnded(err) || !HasEnded(here.Check(mark)) {
				t.Errorf("after the exchange: %v", err)
			}
			if err := here.Check(others); err != nil {
				t.Errorf("another session: %v", err)
			}
			if strings.Contains(b.text, mark.ID) || strings.Contains(b.text, p.URL) {
				t.Errorf("the board shows %s", b.text)
			}
		})
	}
	clock.Step(endedKept)
	if exchange(); b.text != "" || len(here.ended.Keys()) != 0 {
		t.Errorf("after a day the board has %q, and the replica %d ends", b.text, len(here.ended.Keys()))
	}
}

// Share passes an end on at once, and what it could not write with the next attempt.
func TestShare(t *testing.T) {
	p := oidcprovider.New(t)
	l, _ := start(t, p)
	b := &board{away: true, text: "no JSON"}
	go l.Share(t.Context(), b)
	has := func(key string) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return strings.Contains(b.text, key)
	}
	await := func(key string) {
		t.Helper()
		for end := time.Now().Add(5 * time.Second); !has(key); time.Sleep(5 * time.Millisecond) { // less than shareInterval
			if time.Now().After(end) {
				t.Fatalf("the board has %s", b.text)
			}
		}
	}
	first, second := endedKey(p.URL, byID, "1"), endedKey(p.URL, byID, "2")
	l.end(first, l.clock.Now().Unix())
	b.mu.Lock()
	b.away = false
	b.mu.Unlock()
	l.end(second, l.clock.Now().Unix())
	await(second)
	await(first)
}

// The text is bounded, keeps what is latest, and does not change again.
func TestSharedIsBounded(t *testing.T) {
	l, clock := start(t, oidcprovider.New(t))
	now := clock.Now().Unix()
	for i := range int64(maxShared + 500) {
		l.end(endedKey("", byID, fmt.Sprint(i)), now-i)
	}
	for _, text := range []string{"", "null", "[1]", `{"a": "b"}`} {
		text = l.exchange(text)
		if n := strings.Count(text, ":"); n != maxShared || len(text) > 128<<10 || !strings.Contains(text, endedKey("", byID, "0")) || l.exchange(text) != text {
			t.Errorf("the text has %d ends and %d bytes", n, len(text))
		}
	}
	if !slices.Contains(l.ended.Keys(), any(endedKey("", byID, fmt.Sprint(maxShared)))) {
		t.Error("the replica has forgotten an end of its own")
	}
}
