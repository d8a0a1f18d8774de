package login

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// EnvTokenStore says where the tokens of a new login are kept, unless the caller says it.
const EnvTokenStore = "RAYGATE_TOKEN_STORE"

// Places for the tokens of a login.
const (
	InFile    = "file"    // the file of the Store
	InKeyring = "keyring" // the keyring of the system
	Auto      = "auto"    // the keyring if it can be used, else the file
)

// keyringService is the service of the entries in the keyring.
const keyringService = "raygate"

// errKeyring is the cause of errors of the keyring.
var errKeyring = errors.New("using the keyring of the system")

// secret is an entry in the keyring.
type secret struct {
	IDToken      string `json:"idToken"`
	RefreshToken string `json:"refreshToken"`
}

// TokenStore returns where the tokens are kept: InFile or InKeyring.
func (l *Login) TokenStore() string {
	if l.Keyring != "" {
		return InKeyring
	}
	return InFile
}

// Add replaces the login at a gateway by a new one, with its tokens where the caller says: InFile, InKeyring or Auto.
func (s *Store) Add(server string, l *Login, where string) error {
	switch where {
	case InFile, InKeyring, Auto:
	default:
		return fmt.Errorf("%q is no place for tokens: give %s, %s or %s", where, InFile, InKeyring, Auto)
	}
	if where != InFile {
		l.Keyring = server + " " + rand.Text()
		if err := s.Save(server, l); where == InKeyring || !errors.Is(err, errKeyring) {
			return err
		}
		l.Keyring = ""
	}
	return s.Save(server, l)
}

// keep writes the tokens of l to its entry in the keyring, and returns the login without them.
func keep(l *Login) (*Login, error) {
	text, err := json.Marshal(secret{l.IDToken, l.RefreshToken})
	if err != nil {
		return nil, err
	}
	if err := keyring.Set(keyringService, l.Keyring, string(text)); err != nil {
		return nil, fmt.Errorf("%w: %w; use the token store %s", errKeyring, err, InFile)
	}
	without := *l
	without.IDToken, without.RefreshToken = "", ""
	return &without, nil
}

// fetch reads the tokens of l from its entry in the keyring.
func fetch(l *Login) error {
	text, err := keyring.Get(keyringService, l.Keyring)
	if err != nil {
		return fmt.Errorf("%w: %w; log in again", errKeyring, err)
	}
	var kept secret
	if json.Unmarshal([]byte(text), &kept) != nil {
		return fmt.Errorf("%w: the entry cannot be read; log in again", errKeyring)
	}
	l.IDToken, l.RefreshToken = kept.IDToken, kept.RefreshToken
	return nil
}

// forget deletes an entry of the keyring, if it is there. There is none with an empty name.
func forget(entry string) error {
	if entry == "" {
		return nil
	}
	if err := keyring.Delete(keyringService, entry); err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return fmt.Errorf("%w: %w; the tokens are still in its entry %q", errKeyring, err, entry)
	}
	return nil
}
