// Package login gets tokens of an identity provider for a person (OpenID Connect), keeps them, and renews them.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// EnvFile names the file of a Store, in place of raygate/login.json below the user's folder for configuration.
const EnvFile = "RAYGATE_LOGIN_FILE"

// EnvClientSecret has the client secret of a new login, if the provider demands one.
const EnvClientSecret = "RAYGATE_CLIENT_SECRET"

// Login is a login at one gateway. It has secrets and is never printed.
type Login struct {
	// Issuer and ClientID are the identity provider and the client in it.
	Issuer   string `json:"issuer"`
	ClientID string `json:"clientID"`
	// ClientSecret is for providers that demand one of programs on the machines of users, where it is no secret; mostly empty.
	ClientSecret string `json:"clientSecret,omitempty"`
	// Scopes are those of the tokens.
	Scopes []string `json:"scopes,omitempty"`
	// IDToken is sent to the gateway. It is valid until Expiry.
	IDToken string    `json:"idToken,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"`
	// RefreshToken renews it; empty if the provider gave none.
	RefreshToken string `json:"refreshToken,omitempty"`
	// Keyring is the entry in the keyring of the system that has the tokens; empty if they are in the file.
	Keyring string `json:"keyring,omitempty"`

	name string // in the token of this process
}

// String never shows a token.
func (l *Login) String() string { return l.ClientID + " at " + l.Issuer }

// GoString never shows a token.
func (l *Login) GoString() string { return l.String() }

// Store is a file with the logins of a person, which only that person can read. Each gateway has its own login: a token is never sent to another
// gateway.
type Store struct{ path string }

// NewStore returns the store of the current user. It fails if the user has no home.
func NewStore(getenv func(string) string) (*Store, error) {
	if path := getenv(EnvFile); path != "" {
		return &Store{path}, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("finding the file with logins: %w; set $%s", err, EnvFile)
	}
	return &Store{filepath.Join(dir, "raygate", "login.json")}, nil
}

// Load returns the login at a gateway, without the tokens that are in the keyring; nil if there is none.
func (s *Store) Load(server string) (*Login, error) {
	all, err := s.read()
	return all[server], err
}

// Save replaces the login at a gateway, and writes its tokens to the keyring if it has an entry there. A nil login removes it from both, or from neither if
// the keyring cannot be used.
func (s *Store) Save(server string, l *Login) error {
	all, err := s.read()
	if err != nil {
		return err
	}
	before := ""
	if known := all[server]; known != nil {
		before = known.Keyring
	}
	if l == nil {
		if err := forget(before); err != nil { // first, so that the file names the entry until it is deleted
			return err
		}
		delete(all, server)
		return s.write(all)
	}
	all[server] = l
	if l.Keyring != "" {
		if all[server], err = keep(l); err != nil {
			return err
		}
	}
	err = s.write(all)
	if err == nil && before != l.Keyring {
		_ = forget(before) // a keyring that cannot be used does not prevent another login
	}
	return err
}

// Current returns the login at a gateway with a valid token, which it renews if need be; nil if there is no login.
func (s *Store) Current(ctx context.Context, server string) (*Login, error) {
	l, err := s.withTokens(server)
	if l == nil || err != nil {
		return nil, err
	}
	used := l.RefreshToken
	renewed, err := l.Renew(ctx)
	if err != nil {
		// Another process may have used the token for the renewal first, and have stored a new one.
		again, readErr := s.withTokens(server)
		if again == nil || readErr != nil || again.RefreshToken == used {
			return l, err
		}
		l = again
		renewed, err = l.Renew(ctx)
	}
	if renewed && err == nil {
		err = s.Save(server, l)
	}
	return l, err
}

// withTokens is Load with the tokens in the keyring.
func (s *Store) withTokens(server string) (*Login, error) {
	l, err := s.Load(server)
	if l == nil || err != nil || l.Keyring == "" {
		return l, err
	}
	return l, fetch(l)
}

func (s *Store) read() (map[string]*Login, error) {
	all := map[string]*Login{}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("reading logins from %s: %w; remove the file and log in again", s.path, err)
	}
	return all, nil
}

// write replaces the file at once, so that another process never reads half of it.
func (s *Store) write(all map[string]*Login) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = s.replace(text)
	}
	if err != nil {
		return fmt.Errorf("saving the login: %w", err)
	}
	return nil
}

func (s *Store) replace(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), ".login-") // for its owner only
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
