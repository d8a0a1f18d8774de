package serveplan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/internal/testing/raytest"
)

// play carries out moves at once until the upgrade is over, and returns them.
func play(u Upgrade, change func(*Upgrade, int)) (moves []string, end Move) {
	u.Now = raytest.Epoch.Time
	for i := range 1000 {
		change(&u, i)
		m := u.Next()
		if m.Complete || m.RolledBack {
			return moves, m
		}
		for _, c := range []struct {
			name     string
			from, to int32
		}{
			{"PTC", u.PendingCapacity, m.PendingCapacity}, {"PTR", u.PendingTraffic, m.PendingTraffic}, {"ATC", u.ActiveCapacity, m.ActiveCapacity},
		} {
			if c.from != c.to {
				moves = append(moves, fmt.Sprint(c.name, c.to))
			}
		}
		if m.PendingTraffic != u.PendingTraffic {
			u.Shifted = u.Now
		}
		u.Shares = m.Shares
		u.Now = u.Now.Add(time.Second)
	}
	return moves, Move{}
}

func begin(surge, step int32, interval time.Duration) Upgrade {
	return Upgrade{Shares: Shares{ActiveCapacity: 100}, Surge: surge, Step: step, Interval: interval, PendingDeployed: true}
}

func nothing(*Upgrade, int) {}

// TestTraces are the upgrades that KubeRay's users know.
func TestTraces(t *testing.T) {
	var twenty []string
	for c := int32(20); c <= 100; c += 20 {
		twenty = append(twenty, fmt.Sprint("PTC", c))
		for tr := c - 15; tr <= c; tr += 5 {
			twenty = append(twenty, fmt.Sprint("PTR", tr))
		}
		twenty = append(twenty, fmt.Sprint("ATC", 100-c))
	}
	cases := map[string]struct {
		from Upgrade
		want string
	}{
		"at once":      {begin(100, 100, time.Second), "PTC100 PTR100 ATC0"},
		"halves":       {begin(50, 25, 5*time.Second), "PTC50 PTR25 PTR50 ATC50 PTC100 PTR75 PTR100 ATC0"},
		"no divisor":   {begin(40, 30, time.Second), "PTC40 PTR30 PTR40 ATC60 PTC80 PTR70 PTR80 ATC20 PTC100 PTR100 ATC0"},
		"fifths":       {begin(20, 5, 10*time.Second), strings.Join(twenty, " ")},
		"a small step": {begin(100, 50, 0), "PTC100 PTR50 PTR100 ATC0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			moves, end := play(tc.from, nothing)
			if diff := cmp.Diff(tc.want, strings.Join(moves, " ")); diff != "" || !end.Complete {
				t.Errorf("moves (-want +got), complete %t:\n%s", end.Complete, diff)
			}
		})
	}
}

func TestRollbacks(t *testing.T) {
	at := func(surge, step, atc, ptc, ptr int32) Upgrade {
		u := begin(surge, step, 5*time.Second)
		u.Shares, u.Rollback = Shares{atc, ptc, ptr}, true
		return u
	}
	dead := func(u Upgrade) Upgrade { u.PendingServesNothing, u.PendingHasNoHead = true, true; return u }
	lame := func(u Upgrade) Upgrade { u.PendingServesNothing = true; return u } // its head is ready
	cases := map[string]struct {
		from Upgrade
		want string
	}{
		"late":                                {at(50, 25, 50, 100, 75), "PTR50 PTC50 ATC100 PTR25 PTR0 PTC0"},
		"before any traffic":                  {at(50, 25, 100, 50, 0), "PTC0"},
		"before anything":                     {at(50, 25, 100, 0, 0), ""},
		"in the middle":                       {at(50, 25, 100, 50, 25), "PTR0 PTC0"},
		"a surge that does not divide 100":    {at(40, 30, 20, 100, 80), "PTC80 ATC60 PTR50 PTR40 PTC40 ATC100 PTR10 PTR0 PTC0"},
		"the new cluster is dead":             {dead(at(50, 25, 50, 100, 50)), "PTR0 ATC100"},
		"the new cluster dies with all":       {dead(at(50, 25, 0, 100, 100)), "PTR0 ATC100"},
		"the new cluster has not come up":     {dead(at(50, 25, 100, 50, 0)), ""},
		"capacity of the old one is to spare": {dead(at(50, 25, 100, 50, 50)), "PTR0"},
		"the new cluster never serves":        {lame(at(50, 25, 100, 50, 0)), ""},
		"the new cluster serves no more":      {lame(at(50, 25, 50, 100, 75)), "PTR0 ATC100"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			moves, end := play(tc.from, nothing)
			if diff := cmp.Diff(tc.want, strings.Join(moves, " ")); diff != "" || !end.RolledBack {
				t.Errorf("moves (-want +got), rolled back %t:\n%s", end.RolledBack, diff)
			}
		})
	}
}

// TestWaits holds each step back by each thing that it needs.
func TestWaits(t *testing.T) {
	now := raytest.Epoch.Time
	cases := map[string]struct {
		shares Shares
		change func(*Upgrade)
		want   string
	}{
		"capacity without a Gateway":         {Shares{100, 0, 0}, func(u *Upgrade) { u.Unrouted = "no Gateway" }, "no Gateway"},
		"capacity before applications":       {Shares{100, 0, 0}, func(u *Upgrade) { u.PendingDeployed = false }, "the new cluster has no applications yet"},
		"traffic before replicas":            {Shares{100, 50, 0}, func(u *Upgrade) { u.PendingWaits = "shop is DEPLOYING" }, "shop is DEPLOYING"},
		"traffic before the interval":        {Shares{100, 50, 25}, func(u *Upgrade) { u.Shifted = now.Add(-4 * time.Second) }, "the interval between two moves is not over"},
		"traffic without a route":            {Shares{100, 50, 0}, func(u *Upgrade) { u.Unrouted = "no route" }, "no route"},
		"the old cluster before the drain":   {Shares{100, 50, 50}, func(u *Upgrade) { u.Shifted = now.Add(-time.Second) }, "the interval between two moves is not over"},
		"the last capacity of the Service":   {Shares{50, 100, 100}, func(u *Upgrade) { u.ServiceWaits = "the Service leads there" }, "the Service leads there"},
		"no surge":                           {Shares{100, 0, 0}, func(u *Upgrade) { u.Surge = 0 }, "maxSurgePercent or stepSizePercent is 0"},
		"no step":                            {Shares{100, 50, 0}, func(u *Upgrade) { u.Step = 0 }, "maxSurgePercent or stepSizePercent is 0"},
		"back before the old one is ready":   {Shares{100, 50, 50}, func(u *Upgrade) { u.Rollback, u.ActiveWaits = true, "shop is DEPLOYING" }, "shop is DEPLOYING"},
		"back without a route":               {Shares{100, 50, 50}, func(u *Upgrade) { u.Rollback, u.Unrouted = true, "no route" }, "no route"},
		"nobody answers":                     {Shares{50, 100, 50}, func(u *Upgrade) { u.PendingServesNothing, u.ActiveServesNothing, u.PendingWaits = true, true, "down" }, "down"},
		"before traffic nobody is in danger": {Shares{100, 50, 0}, func(u *Upgrade) { u.PendingServesNothing, u.PendingWaits = true, "down" }, "down"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := begin(50, 25, 5*time.Second)
			u.Shares, u.Now = tc.shares, now
			tc.change(&u)
			m := u.Next()
			if m.Shares != tc.shares || m.Waits != tc.want || m.Complete || m.RolledBack {
				t.Errorf("want to wait for %q, got %+v", tc.want, m)
			}
		})
	}
}

// TestDeadClusterLosesItsTraffic: KubeRay only pauses.
func TestDeadClusterLosesItsTraffic(t *testing.T) {
	u := begin(50, 25, 5*time.Second)
	u.Shares = Shares{50, 50, 50}
	moves, end := play(u, func(u *Upgrade, i int) { u.PendingServesNothing = i < 5 })
	want := "PTR0 ATC100 PTR25 PTR50 ATC50 PTC100 PTR75 PTR100 ATC0"
	if diff := cmp.Diff(want, strings.Join(moves, " ")); diff != "" || !end.Complete {
		t.Errorf("moves (-want +got), complete %t:\n%s", end.Complete, diff)
	}
}

func TestUpgradeFromADeadCluster(t *testing.T) {
	for from, want := range map[Shares]string{{100, 50, 50}: "PTR100 PTC100", {100, 100, 0}: "PTR100", {100, 100, 100}: ""} {
		u := begin(50, 25, 5*time.Second)
		u.Shares, u.ActiveServesNothing, u.ActiveWaits = from, true, "the head is away"
		moves, end := play(u, nothing)
		if diff := cmp.Diff(want, strings.Join(moves, " ")); diff != "" || !end.Complete {
			t.Errorf("from %+v: moves (-want +got), complete %t:\n%s", from, end.Complete, diff)
		}
	}
}

// FuzzUpgrade goes forward and back at random: all traffic has a cluster with the capacity for it, both together never have more than the
// surge allows, and every upgrade ends.
func FuzzUpgrade(f *testing.F) {
	for _, o := range [][2]int32{{100, 100}, {50, 25}, {40, 30}, {20, 5}, {1, 1}, {33, 7}} {
		f.Add(o[0], o[1], uint64(o[0]))
	}
	f.Fuzz(func(t *testing.T, surge, step int32, seed uint64) {
		surge, step = 1+max(surge, -surge-1)%100, 1+max(step, -step-1)%100
		step = min(step, surge)
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		turns := []int{random.IntN(40), random.IntN(80), random.IntN(120)}
		var all []Shares
		moves, end := play(begin(surge, step, 2*time.Second), func(u *Upgrade, i int) {
			u.Rollback = i >= slices.Min(turns) && i < slices.Max(turns)
			all = append(all, u.Shares)
		})
		if !end.Complete && !end.RolledBack {
			t.Fatalf("surge %d, step %d: no end: %v", surge, step, moves)
		}
		for _, s := range all {
			switch {
			case s.ActiveCapacity < 0, s.ActiveCapacity > 100, s.PendingCapacity < 0, s.PendingCapacity > 100, s.PendingTraffic < 0, s.PendingTraffic > 100,
				s.ActiveCapacity+s.PendingCapacity < 100, s.ActiveCapacity+s.PendingCapacity > 100+surge,
				s.PendingTraffic > s.PendingCapacity, s.activeTraffic() > s.ActiveCapacity:
				t.Fatalf("surge %d, step %d: %+v in %v", surge, step, s, moves)
			}
		}
	})
}
