package login

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

const (
	// endedKept is how long the end of a session is kept: longer than any ID token lives. After that the provider refuses to renew the session.
	endedKept = 24 * time.Hour
	// shareInterval is how often replicas exchange the ends of sessions.
	shareInterval = 10 * time.Second
	// maxShared bounds the ends that replicas share to some 120 KB, so that they fit in an annotation.
	maxShared = 3000
)

// Board is a text that replicas share.
type Board interface {
	// Update replaces the text by the result of change, if that differs. It calls change again if another replica was faster.
	Update(ctx context.Context, change func(text string) string) error
}

// Share exchanges the ends of sessions with other replicas: at once when this one learns of an end, and every ten seconds. It returns when ctx ends.
func (l *Login) Share(ctx context.Context, board Board) {
	tick := time.NewTicker(shareInterval)
	defer tick.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, shareInterval)
		if err := board.Update(attempt, l.exchange); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Sharing which sessions have ended")
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.news:
		}
	}
}

// exchange takes up the ends in a text, and returns the text with those of this replica. A text that cannot be read has none.
func (l *Login) exchange(text string) string {
	var all map[string]int64
	if json.Unmarshal([]byte(text), &all) != nil || all == nil {
		all = map[string]int64{}
	}
	for _, key := range l.ended.Keys() {
		if at, ok := l.ended.Get(key); ok {
			all[key.(string)] = max(all[key.(string)], at.(int64))
		}
	}
	oldest := l.clock.Now().Add(-endedKept)
	maps.DeleteFunc(all, func(_ string, at int64) bool { return at <= oldest.Unix() })
	latest := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), strings.Compare(a, b)) })
	for _, key := range latest[min(len(latest), maxShared):] {
		delete(all, key)
	}
	for key, at := range all {
		l.ended.Add(key, at, time.Unix(at, 0).Sub(oldest))
	}
	shared, err := json.Marshal(all)
	if err != nil || len(all) == 0 {
		return ""
	}
	return string(shared)
}

// end records the end of the sessions with a key, at a time in seconds since 1970.
func (l *Login) end(key string, at int64) {
	l.ended.Add(key, at, endedKept)
	select {
	case l.news <- struct{}{}:
	default: // Share has not taken up the news before, or is not used
	}
}

// The kinds of ids by which sessions end.
const (
	byID      = "id"      // the session, by its user
	bySID     = "sid"     // the session, by the provider
	bySubject = "sub"     // all sessions that the subject has begun
	byRefusal = "refused" // the session as it was checked last, which the provider refused to renew
)

// endedKey returns the key of an end. Who sees it learns no id.
func endedKey(issuer, kind, id string) string {
	sum := sha256.Sum256([]byte(issuer + "\x00" + kind + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Check returns an error if the session of a Mark has ended by a logout, a logout token, or a refusal to renew it, as far as this process knows; see
// HasEnded. A nil Login or Mark has none.
func (l *Login) Check(m *Mark) error {
	if l == nil || m == nil {
		return nil
	}
	for _, by := range []struct {
		kind, id string
		since    int64
	}{{byID, m.ID, 0}, {bySID, m.SID, 0}, {bySubject, m.Subject, m.Began}, {byRefusal, m.ID, m.Checked}} {
		at, ok := l.ended.Get(endedKey(m.Issuer, by.kind, by.id))
		if ok && by.id != "" && by.since <= at.(int64) {
			return errEnded
		}
	}
	return nil
}
