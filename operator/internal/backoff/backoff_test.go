package backoff_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/operator/internal/backoff"
)

func TestWaitsDoubleUpToTheLast(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := backoff.New[string](c, backoff.Config{First: time.Second, Last: 5 * time.Second})
	k := backoff.Key{Owner: "a", Attempt: "create"}
	var got []time.Duration
	for range 5 {
		got = append(got, l.Failed(k, 1, "why"))
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	c.SetTime(time.Unix(2, 0))
	if got := l.Wait(k, 1); got != 3*time.Second {
		t.Errorf("%s left, want 3s", got)
	}
}

func TestAnotherGenerationIsTriedAtOnce(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := backoff.New[string](c, backoff.Config{First: time.Second, Last: time.Minute})
	k := backoff.Key{Owner: "a"}
	l.Failed(k, 1, "why")
	l.Failed(k, 1, "why")
	if _, failing := l.Last(k, 2); l.Wait(k, 2) != 0 || failing {
		t.Error("another generation waits")
	}
	if got := l.Failed(k, 2, "why"); got != time.Second {
		t.Errorf("waits %s after its first failure", got)
	}
}

func TestFreeFailuresCauseNoWait(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := backoff.New[string](c, backoff.Config{First: 2 * time.Second, Last: time.Minute, Free: 2})
	k := backoff.Key{Owner: "a"}
	if a, b, c := l.Failed(k, 0, "why"), l.Failed(k, 0, "why"), l.Failed(k, 0, "why"); a != 0 || b != 0 || c != 2*time.Second {
		t.Errorf("waits %s, %s, %s", a, b, c)
	}
}

func TestWhatIsLongAgoDoesNotCount(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := backoff.New[string](c, backoff.Config{First: time.Second, Last: 10 * time.Second})
	k := backoff.Key{Owner: "a"}
	l.Failed(k, 0, "why")
	l.Failed(k, 0, "why")
	c.SetTime(time.Unix(60, 0))
	if got := l.Failed(k, 0, "why"); got != time.Second {
		t.Errorf("waits %s", got)
	}
}

func TestEntriesAreDroppedWithTheirOwnerAfterSuccessAndWithTime(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := backoff.New[string](c, backoff.Config{First: time.Second, Last: 10 * time.Second})
	l.Failed(backoff.Key{Owner: "a", Attempt: "x"}, 1, "why")
	l.Failed(backoff.Key{Owner: "a", Attempt: "y"}, 1, "why")
	l.Failed(backoff.Key{Owner: "b"}, 1, "why")
	l.Failed(backoff.Key{Owner: "c"}, 1, "why")
	l.Forget("a")
	l.Succeeded(backoff.Key{Owner: "b"})
	if got := l.Len("a", "b", "c", "d"); got != 1 {
		t.Errorf("%d entries, want that of c", got)
	}
	c.SetTime(time.Unix(4000, 0))
	l.Failed(backoff.Key{Owner: "d"}, 1, "why")
	if got := l.Len("a", "b", "c", "d"); got != 1 {
		t.Errorf("%d entries, want that of d alone", got)
	}
}

func TestWhyTheLastAttemptFailed(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := backoff.New[string](c, backoff.Config{First: time.Second})
	k := backoff.Key{Owner: "a", Attempt: "x"}
	l.Failed(k, 1, "quota")
	l.Unknown(k, 1)
	if why, failing := l.Last(k, 1); why != "quota" || !failing {
		t.Errorf("failed because of %q, still failing: %t", why, failing)
	}
	l.Unknown(k, 2)
	if why, failing := l.Last(k, 2); why != "" || !failing || l.Wait(k, 2) != 0 {
		t.Errorf("another generation failed because of %q, still failing: %t, has to wait %s", why, failing, l.Wait(k, 2))
	}
	l.Succeeded(k)
	if _, failing := l.Last(k, 2); failing {
		t.Error("failing after a success")
	}
}
