package login

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/rest"
)

// CallbackPath is the path of redirects from providers.
const CallbackPath = "/oauth2/callback"

const (
	// defaultInterval is the interval at which the provider is asked whether a session still holds.
	defaultInterval = 5 * time.Minute
	// minInterval keeps the load on providers low.
	minInterval = 10 * time.Second
)

// Config is the file of --login-config.
type Config struct {
	// RedirectURL is the address of CallbackPath for browsers, which each provider has to know.
	RedirectURL string `json:"redirectURL"`
	// CheckInterval is the longest time for which a session is used without asking its provider. Zero means five minutes.
	CheckInterval metav1.Duration `json:"checkInterval"`
	// Providers are the choices at the login, at least one.
	Providers []ProviderConfig `json:"providers"`
}

// ProviderConfig is the client of the console at one provider.
type ProviderConfig struct {
	// IssuerURL is that of an issuer in the AuthenticationConfiguration.
	IssuerURL string `json:"issuerURL"`
	// Name is shown at the login. Empty means the host of IssuerURL.
	Name string `json:"name,omitempty"`
	// ClientID is one of the audiences of the issuer.
	ClientID string `json:"clientID"`
	// ClientSecretFile has the secret of a confidential client. Empty means a public client.
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// Scopes are those that are requested. Empty means openid, email, profile and offline_access.
	Scopes []string `json:"scopes,omitempty"`

	secret string
	issuer apiserver.Issuer
}

// Load reads a Config for the issuers. It returns all mistakes at once.
func Load(file string, issuers *apiserver.AuthenticationConfiguration) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	c.CheckInterval.Duration = cmp.Or(c.CheckInterval.Duration, defaultInterval)
	errs := []error{c.checkRedirect()}
	if c.CheckInterval.Duration < minInterval {
		errs = append(errs, fmt.Errorf("checkInterval: %s is shorter than %s", c.CheckInterval.Duration, minInterval))
	}
	if len(c.Providers) == 0 {
		errs = append(errs, errors.New("providers: list at least one"))
	}
	known := map[string]bool{}
	for i := range c.Providers {
		p := &c.Providers[i]
		if known[p.IssuerURL] {
			errs = append(errs, fmt.Errorf("providers[%d].issuerURL: %s is listed before", i, p.IssuerURL))
		}
		known[p.IssuerURL] = true
		for _, err := range p.complete(issuers) {
			errs = append(errs, fmt.Errorf("providers[%d].%w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return c, nil
}

func (c *Config) checkRedirect() error {
	u, err := url.Parse(c.RedirectURL)
	switch {
	case err != nil || u.Host == "" || u.Path != CallbackPath || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("redirectURL: %q is not https://HOST%s", c.RedirectURL, CallbackPath)
	case u.Scheme != "https" && (u.Scheme != "http" || !rest.IsLoopback(u.Hostname())):
		return fmt.Errorf("redirectURL: %q must begin with https://; http:// is for this machine only", c.RedirectURL)
	}
	return nil
}

// complete finds the issuer, reads the secret, and sets defaults.
func (p *ProviderConfig) complete(issuers *apiserver.AuthenticationConfiguration) (errs []error) {
	if p.IssuerURL == "" || p.ClientID == "" {
		return []error{errors.New("issuerURL and clientID are required")}
	}
	i := slices.IndexFunc(issuers.JWT, func(j apiserver.JWTAuthenticator) bool { return j.Issuer.URL == p.IssuerURL })
	if i < 0 {
		return []error{fmt.Errorf("issuerURL: %s is not an issuer of --authentication-config", p.IssuerURL)}
	}
	p.issuer = issuers.JWT[i].Issuer
	if !slices.Contains(p.issuer.Audiences, p.ClientID) {
		errs = append(errs, fmt.Errorf("clientID: %s is not an audience of the issuer in --authentication-config, so that its tokens would be refused", p.ClientID))
	}
	if u, err := url.Parse(p.IssuerURL); err == nil && p.Name == "" {
		p.Name = u.Host
	}
	if len(p.Scopes) == 0 {
		p.Scopes = []string{oidc.ScopeOpenID, "email", "profile", oidc.ScopeOfflineAccess}
	}
	if !slices.Contains(p.Scopes, oidc.ScopeOpenID) {
		errs = append(errs, fmt.Errorf("scopes: add %s, without which a provider returns no ID token", oidc.ScopeOpenID))
	}
	if err := p.readSecret(); err != nil {
		errs = append(errs, fmt.Errorf("clientSecretFile: %w", err))
	}
	return errs
}

func (p *ProviderConfig) readSecret() error {
	if p.ClientSecretFile == "" {
		return nil
	}
	secret, err := os.ReadFile(p.ClientSecretFile)
	if p.secret = string(bytes.TrimSpace(secret)); err == nil && p.secret == "" {
		return errors.New("the file is empty")
	}
	return err
}
