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
	// Checked is the time of the provider's last answer about the session in seconds since 1970.
	Checked int64 `json:"c"`
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
