package login

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// While the keyring cannot be used, nothing is lost, and the entry stays known until it can be deleted.
func TestKeyringThatIsGoneForAWhile(t *testing.T) {
	keyring.MockInit()
	store := &Store{filepath.Join(t.TempDir(), "login.json")}
	login := stored()
	if err := store.Add("a", login, InKeyring); err != nil {
		t.Fatal(err)
	}
	text, err := keyring.Get(keyringService, login.Keyring)
	if err != nil {
		t.Fatal(err)
	}
	keyring.MockInitWithError(errors.New("no session bus"))
	_, reading := store.Current(t.Context(), "a")
	for name, err := range map[string]error{"reading": reading, "saving": store.Save("a", login), "logging out": store.Save("a", nil)} {
		if !errors.Is(err, errKeyring) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	keyring.MockInit()
	if err := keyring.Set(keyringService, login.Keyring, text); err != nil {
		t.Fatal(err)
	}
	if l, err := store.Current(t.Context(), "a"); err != nil || l.RefreshToken != "secret-renew" {
		t.Errorf("afterwards: %v, %v", l, err)
	}
	if err := store.Save("a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get(keyringService, login.Keyring); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("after logging out: %v", err)
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

// The Secret Service of Linux: a bus and a keyring of this test's own, in which the test runs once more.
func TestSecretService(t *testing.T) {
	if os.Getenv("RAYGATE_TEST_KEYRING") == "" {
		runWithSecretService(t)
		return
	}
	store := &Store{filepath.Join(t.TempDir(), "login.json")}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // until the keyring is on the bus
		err := store.Add("a", stored(), InKeyring)
		if err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(store.path); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the file has tokens: %v, %s", err, text)
	}
	l, err := store.Current(t.Context(), "a")
	if err != nil || l.IDToken != "secret-id" || l.RefreshToken != "secret-renew" {
		t.Fatalf("read as %v, %v", l, err)
	}
	if err := store.Save("a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get(keyringService, l.Keyring); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("after logging out: %v", err)
	}
}

// runWithSecretService runs TestSecretService in another process, below the programs of Debian's packages dbus-daemon and gnome-keyring.
func runWithSecretService(t *testing.T) {
	t.Helper()
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the keyring of the system is NOT tested: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const script = `echo password | gnome-keyring-daemon --foreground --unlock --components=secrets >/dev/null &
"$0" -test.run='^TestSecretService$' -test.v
code=$?
kill $!
exit $code`
	cmd := exec.CommandContext(ctx, "dbus-run-session", "--", "sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), "RAYGATE_TEST_KEYRING=1", "HOME="+t.TempDir(), "XDG_DATA_HOME=", "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestSecretService") {
		t.Errorf("%v: %s", err, out)
	}
}
