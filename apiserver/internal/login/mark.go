package login

import "context"

// Mark identifies a session where its tokens are of no use, such as in a ticket that a logout ends.
type Mark struct {
	// ID is random, and the same after a renewal.
	ID      string `json:"id"`
	Issuer  string `json:"i"`
	Subject string `json:"s"`
	// SID is the provider's id of the session, empty if it has none.
	SID string `json:"d,omitempty"`
	// Began is the time of the login in seconds since 1970.
	Began int64 `json:"b"`
}

type markKey struct{}

// WithMark returns a context that carries the Mark of a session, as Resume leaves it.
func (l *Login) WithMark(ctx context.Context, sealed string) context.Context {
	s, _, err := l.open(sealed)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, markKey{}, &s.Mark)
}

// MarkFrom returns the Mark in a context, nil for none.
func MarkFrom(ctx context.Context) *Mark {
	m, _ := ctx.Value(markKey{}).(*Mark)
	return m
}

// Check returns an error if a logout or a logout token that this process knows has ended the session of a Mark; see HasEnded. A nil Login or Mark has none.
func (l *Login) Check(m *Mark) error {
	if l == nil || m == nil {
		return nil
	}
	for kind, id := range map[string]string{"id": m.ID, "sid": m.SID} {
		if _, ok := l.ended.Get(endedKey(m.Issuer, kind, id)); ok && id != "" {
			return errEnded
		}
	}
	if at, ok := l.ended.Get(endedKey(m.Issuer, "sub", m.Subject)); ok && m.Began <= at.(int64) {
		return errEnded
	}
	return nil
}
