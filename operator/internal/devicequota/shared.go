package devicequota

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// shared is what a namespace has of the ledger.
type shared struct {
	// turn lets one question at a time write: only other replicas are in its way then.
	turn  chan struct{}
	table *table // as it was read or written last, nil if that is not known; of whoever has the turn
}

func newShared() shared { return shared{turn: make(chan struct{}, 1)} }

// contention paces replicas that write at the same moment. All of it is well below the timeout of the webhook.
var contention = wait.Backoff{Steps: 12, Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 1}

// overtaken reports whether another replica has written.
func overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// checkShared is Check with reservations that all replicas know. A verdict against the Pod needs no look at the ledger of now: since the last one
// only more can have been reserved. A verdict for it counts once it was written.
func (e *Engine) checkShared(ctx context.Context, n *namespace, a *question) (Verdict, error) {
	select {
	case n.shared.turn <- struct{}{}:
		defer func() { <-n.shared.turn }()
	case <-ctx.Done():
		return Verdict{}, ctx.Err()
	}
	var v Verdict
	err := retry.OnError(contention, overtaken, func() (err error) {
		if n.shared.table == nil {
			if n.shared.table, err = e.o.Ledger.read(ctx, a.pod.Namespace); err != nil {
				return err
			}
		}
		v, err = e.reserveShared(ctx, n, a)
		if err != nil {
			n.shared.table = nil
		}
		return err
	})
	return v, err
}

func (e *Engine) reserveShared(ctx context.Context, n *namespace, a *question) (Verdict, error) {
	now := e.o.Clock.Now()
	v, done := n.decideShared(a, now)
	if done {
		return v, nil
	}
	until := now.Add(e.o.TTL)
	t, err := e.o.Ledger.write(ctx, a.pod.Namespace, n.shared.table.with(a.pod.UID, record{Scopes: a.scopes, Totals: a.demand.Totals, Until: until}, now))
	if err != nil {
		return Verdict{}, err
	}
	n.shared.table = t
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.sees(a.pod.UID) {
		n.reserve(a.pod.UID, a.entry(), until)
	}
	return v, nil
}

// decideShared says whether the Pod fits; done that there is nothing to write.
func (n *namespace) decideShared(a *question, now time.Time) (v Verdict, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid, r := range n.shared.table.records {
		if _, gone := n.gone[uid]; gone || n.entries[uid] != nil || !now.Before(r.Until) {
			continue
		}
		n.reserve(uid, &entry{scopes: r.Scopes, state: reserved, totals: r.Totals}, r.Until)
	}
	v = n.decide(a, now)
	return v, len(v.Exceeded) > 0 || !v.limited || n.sees(a.pod.UID)
}
