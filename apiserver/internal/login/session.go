package login

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	// renewBefore is how long before its expiry an ID token is renewed, unless it lives for a shorter time.
	renewBefore = time.Minute
	// renewalKept is how long the outcome of a renewal is kept for other requests with the same session.
	renewalKept = time.Minute
	// retryAfter is the time between two attempts to ask a provider that is away: to renew a session, or for its endpoints.
	retryAfter = 10 * time.Second
	// otherReplica is how long after the time for a renewal a refusal may be due to another replica, which has used the refresh token.
	otherReplica = 30 * time.Second
)

// session is the content of the sealed cookie of a browser.
type session struct {
	Mark
	IDToken string `json:"t"`
	Refresh string `json:"r,omitempty"`
	// Expires is the end of IDToken in seconds since 1970.
	Expires int64 `json:"e"`
}

// errEnded reports the end of a session.
var errEnded = &rpcstatus.Error{Code: codes.Unauthenticated, Reason: "SESSION_ENDED", Message: "the session has ended: log in again"}

// HasEnded reports whether an error of Resume is the end of the session.
func HasEnded(err error) bool { return errors.Is(err, errEnded) }

func (l *Login) open(sealed string) (*session, *provider, error) {
	s := &session{}
	if err := l.box.Open(sealed, forSession, s); err != nil {
		return nil, nil, errEnded
	}
	p := l.provider(s.Issuer)
	if p == nil {
		return nil, nil, errEnded
	}
	if s.SID != "" {
		l.seen.Add(endedKey(s.Issuer, bySID, s.SID), struct{}{}, endedKept)
	}
	return s, p, nil
}

// due is the time from which on a session is renewed.
func (l *Login) due(s *session) time.Time {
	checked, expires := time.Unix(s.Checked, 0), time.Unix(s.Expires, 0)
	due := expires.Add(-min(renewBefore, expires.Sub(checked)/2))
	if s.Refresh == "" {
		return expires
	}
	if next := checked.Add(l.config.CheckInterval.Duration); next.Before(due) {
		return next
	}
	return due
}

// Lasts returns how long a session, as Resume leaves it, is used before its next renewal. It is zero if that is overdue, as while the provider is away.
func (l *Login) Lasts(sealed string) time.Duration {
	s, _, err := l.open(sealed)
	if err != nil {
		return 0
	}
	return max(0, l.due(s).Sub(l.clock.Now()))
}

// Resume returns the ID token of a session, and the sealed session that replaces it if it was renewed; else empty. An error is that of the end, for which see
// HasEnded, or that of a provider that is away.
func (l *Login) Resume(ctx context.Context, sealed string) (token, renewed string, err error) {
	s, p, err := l.open(sealed)
	if err != nil {
		return "", "", err
	}
	if err := l.Check(&s.Mark); err != nil {
		return "", "", err
	}
	now, due := l.clock.Now(), l.due(s)
	valid := now.Before(time.Unix(s.Expires, 0))
	switch {
	case now.Before(due):
		return s.IDToken, "", nil
	case s.Refresh == "":
		return "", "", errEnded
	}
	next, err := l.renew(ctx, p, s)
	switch {
	case err == nil && l.Check(&next.Mark) != nil:
		return "", "", errEnded
	case err == nil:
		return next.IDToken, l.box.Seal(next, forSession), nil
	case valid && (!HasEnded(err) || now.Before(due.Add(otherReplica))):
		return s.IDToken, "", nil
	case HasEnded(err):
		l.end(endedKey(s.Issuer, byRefusal, s.ID), s.Checked)
	}
	return "", "", err
}

// outcome is that of a renewal.
type outcome struct {
	session *session
	err     error
}

// renew returns the session with new tokens. Requests with the same refresh token of the same provider share one outcome.
func (l *Login) renew(ctx context.Context, p *provider, s *session) (*session, error) {
	sum := sha256.Sum256([]byte(s.Issuer + "\x00" + s.Refresh))
	key := string(sum[:])
	result, _, _ := l.flight.Do(key, func() (any, error) {
		if known, ok := l.renewals.Get(key); ok {
			return known, nil
		}
		o := outcome{}
		o.session, o.err = p.renew(context.WithoutCancel(ctx), s)
		keep := renewalKept
		if o.err != nil && !HasEnded(o.err) {
			keep = retryAfter
		}
		l.renewals.Add(key, o, keep)
		return o, nil
	})
	o := result.(outcome)
	return o.session, o.err
}

// renew asks the provider for new tokens. A refusal is errEnded.
func (p *provider) renew(ctx context.Context, old *session) (*session, error) {
	e, err := p.discover()
	if err != nil {
		return nil, err
	}
	ctx, cancel := p.context(ctx)
	defer cancel()
	token, err := e.TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	if err != nil {
		if err = failure(err); isRefusal(err) {
			return nil, errEnded
		}
		return nil, err
	}
	if token.Extra("id_token") == nil { // a provider may leave it out; the old one holds until it expires
		next := *old
		next.Checked, next.Refresh = p.now().Unix(), token.RefreshToken
		return &next, nil
	}
	next, _, err := p.session(ctx, e, token)
	if err != nil {
		return nil, err
	}
	if next.Subject != old.Subject {
		return nil, errEnded
	}
	next.ID, next.Began, next.SID = old.ID, old.Began, cmp.Or(next.SID, old.SID)
	return next, nil
}

func isRefusal(err error) bool {
	known, ok := errors.AsType[*rpcstatus.Error](err)
	return ok && known.Code == codes.Unauthenticated
}
