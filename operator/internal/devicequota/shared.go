package devicequota

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// contention is the back-off after a conflict with another replica. Its sum is well below the timeout of the webhook.
var contention = wait.Backoff{Steps: 12, Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 1}

// overtaken reports whether another replica has written first.
func overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// checkShared is Check with reservations that all replicas share. A negative verdict needs no fresh ledger, because reservations
// can only have grown since the last read. A positive verdict requires that the reservation is written.
func (e *Engine) checkShared(ctx context.Context, n *namespace, a *question) (Verdict, error) {
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
		return Verdict{}, ctx.Err()
	}
	var v Verdict
	err := retry.OnError(contention, overtaken, func() (err error) {
		if n.table == nil {
			if n.table, err = e.o.Ledger.read(ctx, a.pod.Namespace); err != nil {
				return err
			}
		}
		v, err = e.reserveShared(ctx, n, a)
		if err != nil {
			n.table = nil
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
	until := now.Add(DefaultTTL)
	t, err := e.o.Ledger.write(ctx, a.pod.Namespace, n.table.with(a.pod.UID, record{Scopes: a.scopes, Totals: a.demand.Totals, Until: until}, now))
	if err != nil {
		return Verdict{}, err
	}
	n.table = t
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.sees(a.pod.UID) {
		n.reserve(a.pod.UID, a.entry(), until)
	}
	return v, nil
}

// decideShared returns the verdict for the Pod. done means that nothing has to be written.
func (n *namespace) decideShared(a *question, now time.Time) (v Verdict, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid, r := range n.table.records {
		if _, gone := n.gone[uid]; gone || n.entries[uid] != nil || !now.Before(r.Until) {
			continue
		}
		n.reserve(uid, &entry{scopes: r.Scopes, state: reserved, totals: r.Totals}, r.Until)
	}
	v = n.decide(a, now)
	return v, len(v.Exceeded) > 0 || !v.limited || n.sees(a.pod.UID)
}
