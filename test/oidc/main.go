package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/text/language"
)

// options are the flags.
type options struct {
	address string
	dir     string
	// console is the base URL of the gateway, without a slash at the end.
	console string
	secret  string
	life    time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1:0", "address to serve at; its host must be 127.0.0.1")
	flag.StringVar(&o.dir, "dir", ".", "folder for the files that a gateway needs")
	flag.StringVar(&o.console, "console", "http://127.0.0.1:8888", "base URL of the gateway, whose console is a client")
	flag.StringVar(&o.secret, "console-secret-file", "", "file with the client secret of the console; empty for a public client")
	flag.DurationVar(&o.life, "token-life", 5*time.Minute, "lifetime of ID tokens")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "oidc:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return err
	}
	issuer := "https://" + listener.Addr().String()
	handler, err := newHandler(o, issuer)
	if err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.StartTLS()
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, text := range map[string]string{"ca.crt": ca, "authentication.yaml": configuration(issuer, ca)} {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	fmt.Println(issuer)
	<-ctx.Done()
	return nil
}

// configuration is the AuthenticationConfiguration that trusts the tokens of both clients.
func configuration(issuer, ca string) string {
	return fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: %s
    audiences: [%s, %s]
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
      %s
  claimMappings:
    username: {claim: email, prefix: ""}
    groups: {claim: groups, prefix: "sso:"}
  claimValidationRules:
  - {expression: "claims.?email_verified.orValue(false) == true", message: the address must be verified}
`, issuer, consoleClient, publicClient, strings.ReplaceAll(strings.TrimSpace(ca), "\n", "\n      "))
}

// server is everything behind the listener.
type server struct {
	http.Handler
	store *storage
	pages *pages
	away  atomic.Bool
}

func newHandler(o options, issuer string) (http.Handler, error) {
	store, err := newStorage(o, issuer)
	if err != nil {
		return nil, err
	}
	var key [sha256.Size]byte
	_, _ = rand.Read(key[:]) // never fails
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: key, CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true, DefaultLogoutRedirectURI: "/logged-out",
		SupportedUILocales: []language.Tag{language.English}, BackChannelLogoutSupported: true, BackChannelLogoutSessionSupported: true,
		SupportedScopes:     []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail, oidc.ScopeOfflineAccess, "groups"},
		DeviceAuthorization: op.DeviceAuthorizationConfig{Lifetime: 5 * time.Minute, PollInterval: time.Second, UserFormPath: "/device", UserCode: op.UserCodeBase20},
	}, store, op.StaticIssuer(issuer))
	if err != nil {
		return nil, err
	}
	s := &server{store: store, pages: &pages{store: store, callback: provider.AuthorizationEndpoint().Relative() + "/callback"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", s.pages.login)
	mux.HandleFunc("POST /login", s.pages.login)
	mux.HandleFunc("GET /device", s.pages.device)
	mux.HandleFunc("POST /device", s.pages.device)
	mux.HandleFunc("GET /logged-out", s.pages.loggedOut)
	mux.HandleFunc(provider.EndSessionEndpoint().Relative(), s.pages.endSession(provider))
	mux.HandleFunc("POST /control/rotate", func(w http.ResponseWriter, _ *http.Request) { s.control(w, store.rotate()) })
	mux.HandleFunc("POST /control/end", func(w http.ResponseWriter, r *http.Request) {
		s.control(w, store.end(r.Context(), func(u *session) bool { return u.user == r.FormValue("user") }, r.FormValue("notify") == "true"))
	})
	mux.HandleFunc("POST /control/away", func(w http.ResponseWriter, r *http.Request) {
		s.away.Store(r.FormValue("on") == "true")
		s.control(w, nil)
	})
	mux.Handle("/", provider)
	s.Handler = mux
	return s, nil
}

// control answers a request of a test.
func (s *server) control(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() && !strings.HasPrefix(r.URL.Path, "/control/") {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	s.Handler.ServeHTTP(w, r)
}
