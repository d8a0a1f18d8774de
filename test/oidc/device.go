package main

import (
	"context"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"
)

// device waits for a person to enter its code.
type device struct {
	clientID, userCode string
	scopes             []string
	expires            time.Time
	session            *session // nil until then
}

// StoreDeviceAuthorization implements op.DeviceAuthorizationStorage.
//
//nolint:revive // the interface has six parameters
func (s *storage) StoreDeviceAuthorization(_ context.Context, clientID, deviceCode, userCode string, expires time.Time, scopes []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[deviceCode] = &device{clientID: clientID, userCode: userCode, scopes: scopes, expires: expires}
	return nil
}

// GetDeviceAuthorizatonState implements op.DeviceAuthorizationStorage.
func (s *storage) GetDeviceAuthorizatonState(_ context.Context, clientID, deviceCode string) (*op.DeviceAuthorizationState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.devices[deviceCode]
	if !ok || d.clientID != clientID {
		return nil, errUnknown
	}
	state := &op.DeviceAuthorizationState{ClientID: clientID, Audience: []string{clientID}, Scopes: d.scopes, Expires: d.expires, Done: d.session != nil}
	if d.session != nil {
		state.Subject, state.AuthTime = d.session.user, d.session.at
	}
	return state, nil
}

// approve logs in the device with the code, and reports whether there is one.
func (s *storage) approve(userCode string, of *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.devices {
		if d.userCode == userCode && time.Now().Before(d.expires) {
			d.session = of
			return true
		}
	}
	return false
}
