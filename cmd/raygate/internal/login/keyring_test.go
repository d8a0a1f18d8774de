package login

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

func stored() *Login {
	return &Login{Issuer: "https://login.example.com", ClientID: "raygate", IDToken: "secret-id", RefreshToken: "secret-renew", Expiry: time.Now().Add(time.Hour)}
}

func TestTokensInTheKeyring(t *testing.T) {
	keyring.MockInit()
	file := filepath.Join(t.TempDir(), "login.json")
	store := &Store{file}
	if err := store.Add("a", stored(), InKeyring); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the file has tokens: %v, %s", err, text)
	}
	l, err := store.Current(t.Context(), "a")
	if err != nil || l.IDToken != "secret-id" || l.RefreshToken != "secret-renew" {
		t.Fatalf("read as %v, %v", l, err)
	}
	first := l.Keyring
	if err := store.Save("a", l); err != nil {
		t.Fatal(err)
	}
	if err := store.Add("a", stored(), Auto); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get(keyringService, first); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the entry of the last login: %v", err)
	}
	if l, err = store.Load("a"); err != nil || l.Keyring == "" || l.Keyring == first {
		t.Errorf("logged in again: %v, %v", l, err)
	}
	if err := store.Save("a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get(keyringService, l.Keyring); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("after logging out: %v", err)
	}
}

func TestKeyringThatCannotBeUsed(t *testing.T) {
	keyring.MockInitWithError(errors.New("no session bus"))
	store := &Store{filepath.Join(t.TempDir(), "login.json")}
	if err := store.Add("a", stored(), InKeyring); err == nil || !strings.Contains(err.Error(), "no session bus") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	if l, err := store.Load("a"); l != nil || err != nil {
		t.Errorf("after the error: %v, %v", l, err)
	}
	if err := store.Add("a", stored(), "nowhere"); err == nil || !strings.Contains(err.Error(), "no place for tokens") {
		t.Errorf("error %v", err)
	}
	if err := store.Add("a", stored(), Auto); err != nil {
		t.Fatal(err)
	}
	if l, err := store.Current(t.Context(), "a"); err != nil || l.IDToken != "secret-id" || l.Keyring != "" {
		t.Errorf("kept as %v, %v", l, err)
	}
}

// Of two processes that renew a login at once, one is late: the provider refuses it, and it uses the token of the other.
func TestRenewalOfAnotherProcess(t *testing.T) {
	store := &Store{filepath.Join(t.TempDir(), "login.json")}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		other := stored()
		other.IDToken, other.RefreshToken = "of-the-other", "next"
		if err := store.Save("a", other); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer provider.Close()
	late := stored()
	late.Expiry, late.Issuer = time.Now(), provider.URL
	if err := store.Save("a", late); err != nil {
		t.Fatal(err)
	}
	if l, err := store.Current(t.Context(), "a"); err != nil || l.IDToken != "of-the-other" {
		t.Errorf("the late one has %v, %v", l, err)
	}
}
