// Package connect makes the connection to the gateway that flags, environment and kubeconfig name.
package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-base/version"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/login"
)

// LocalServer is where the gateway of a local cluster listens.
const LocalServer = "127.0.0.1:8887"

// Flags are the flags for the address of the gateway and the credentials.
type Flags struct {
	Server, Token, TokenFile, Kubeconfig, Context string
	CertificateAuthority, TLSServerName           string
	ClientCertificate, ClientKey                  string
	Insecure, PlaintextToken                      bool
	Namespace                                     string
	RequestTimeout                                time.Duration
	// URL is the address of the REST port, for commands that need it.
	URL string

	// Getenv is os.Getenv but in tests.
	Getenv func(string) string

	kubeconfig *raygate.Identity
	noTokenWhy string
}

// Add registers the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.Server, "server", "", "address of the gateway's gRPC port: HOST[:PORT], optionally with https:// or http:// (default $"+raygate.EnvServer+", $"+raygate.EnvLocalServer+" or "+LocalServer+")")
	fs.StringVar(&f.Token, "token", "", "bearer token that Kubernetes accepts (default $"+raygate.EnvToken+"); a flag is visible in the list of processes, $"+raygate.EnvToken+" is not")
	fs.StringVar(&f.TokenFile, "token-file", "", "file with the bearer token (default $"+raygate.EnvTokenFile+")")
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig with the user and the namespace (default as for kubectl)")
	fs.StringVar(&f.Context, "context", "", "context of the kubeconfig (default the current one)")
	fs.StringVar(&f.CertificateAuthority, "certificate-authority", "", "file with the certificates to trust (default $"+raygate.EnvCertificateAuthority+" or those of the system)")
	fs.StringVar(&f.TLSServerName, "tls-server-name", "", "name that the gateway's certificate must have (default the host of --server)")
	fs.StringVar(&f.ClientCertificate, "client-certificate", "", "file with a client certificate, for gateways that ask for one (default that of the kubeconfig)")
	fs.StringVar(&f.ClientKey, "client-key", "", "file with the key of the client certificate")
	fs.BoolVar(&f.Insecure, "insecure-skip-tls-verify", false, "do not check the gateway's certificate; an attacker in between gets the token")
	fs.BoolVar(&f.PlaintextToken, "insecure-plaintext-token", false, "send the token over http:// to another machine")
	fs.StringVarP(&f.Namespace, "namespace", "n", "", "namespace (default that of the kubeconfig's context, or default)")
	fs.DurationVar(&f.RequestTimeout, "request-timeout", 30*time.Second, "timeout of a single call, retries included; 0: no limit. It does not apply to wait, watch and logs")
}

// NamespaceOrDefault returns the namespace that is meant.
func (f *Flags) NamespaceOrDefault() (string, error) {
	namespace := f.Namespace
	if namespace == "" {
		// A missing kubeconfig is allowed, unless a flag or variable names it.
		id, err := f.identity()
		if err != nil && f.explicit() {
			return "", err
		}
		if err == nil {
			namespace = id.Namespace
		}
	}
	namespace = cmp.Or(namespace, "default")
	if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
		return "", fmt.Errorf("%q is not a namespace: %s", namespace, strings.Join(bad, "; "))
	}
	return namespace, nil
}

// explicit reports whether flags name a kubeconfig or a context.
func (f *Flags) explicit() bool { return f.Kubeconfig != "" || f.Context != "" }

func (f *Flags) identity() (*raygate.Identity, error) {
	if f.kubeconfig != nil {
		return f.kubeconfig, nil
	}
	id, err := raygate.Kubeconfig(f.Kubeconfig, f.Context)
	f.kubeconfig = id
	return id, err
}

// Gateway returns the address of the gateway as given: by flag or environment, or that of a local cluster.
func (f *Flags) Gateway() (string, error) {
	c, err := f.config()
	return c.Address, err
}

// config returns the settings of the environment, with the address that is meant.
func (f *Flags) config() (raygate.Config, error) {
	c, err := raygate.ConfigFromEnvironment(f.Getenv)
	c.Address = cmp.Or(f.Server, c.Address, LocalServer)
	return c, err
}

// Dial prepares the connection. onWarning gets the warnings of calls.
func (f *Flags) Dial(onWarning func(string)) (*raygate.Client, error) {
	c, err := f.complete()
	if err != nil {
		return nil, err
	}
	c.OnWarning = onWarning
	return raygate.Dial(c)
}

// complete returns all settings: address, authorities and credentials.
func (f *Flags) complete() (raygate.Config, error) {
	c, err := f.config()
	if err != nil {
		return c, err
	}
	c.UserAgent = "raygate/" + version.Get().GitVersion
	c.AllowPlaintextToken = f.PlaintextToken
	if c.TLS, err = f.tls(c.TLS); err != nil {
		return c, err
	}
	return c, f.credentials(&c)
}

func (f *Flags) tls(fromEnvironment *tls.Config) (*tls.Config, error) {
	c := fromEnvironment
	if f.CertificateAuthority != "" {
		var err error
		if c, err = raygate.TrustFile(f.CertificateAuthority); err != nil {
			return nil, err
		}
	}
	if c == nil {
		c = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if f.Insecure && f.CertificateAuthority != "" {
		return nil, errors.New("--insecure-skip-tls-verify and --certificate-authority exclude each other")
	}
	c.InsecureSkipVerify = f.Insecure
	c.ServerName = f.TLSServerName
	if (f.ClientCertificate == "") != (f.ClientKey == "") {
		return nil, errors.New("--client-certificate and --client-key belong together")
	}
	if f.ClientCertificate != "" {
		pair, err := tls.LoadX509KeyPair(f.ClientCertificate, f.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("reading client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// credentials selects the credentials: a token from the flags or the environment, else a login at the gateway, else the user of the kubeconfig.
// A kubeconfig that is named comes before a login.
func (f *Flags) credentials(c *raygate.Config) error {
	switch {
	case f.Token != "" && f.TokenFile != "":
		return errors.New("--token and --token-file exclude each other")
	case f.Token != "":
		c.Token = raygate.StaticToken(f.Token)
		return nil
	case f.TokenFile != "":
		if _, err := os.Stat(f.TokenFile); err != nil {
			return fmt.Errorf("reading token: %w", err)
		}
		c.Token = raygate.TokenFile(f.TokenFile)
		return nil
	case c.Token != nil && !f.explicit():
		return nil
	}
	if found, err := f.useLogin(c); found || err != nil {
		return err
	}
	id, err := f.identity()
	if err != nil {
		if f.explicit() {
			return err
		}
		f.noTokenWhy = "there is no token: run raygate login, or give --token, --token-file or --kubeconfig"
		return nil // a gateway may ask for none
	}
	return f.useIdentity(c, id)
}

// useLogin uses the token of the login at the gateway, and reports whether there is one.
func (f *Flags) useLogin(c *raygate.Config) (bool, error) {
	if f.explicit() {
		return false, nil
	}
	store, err := login.NewStore(f.Getenv)
	if err != nil {
		return false, nil //nolint:nilerr // without a home there is no login
	}
	server := c.Address
	l, err := store.Load(server)
	if l == nil || err != nil {
		return false, err
	}
	c.Token = func(ctx context.Context) (string, error) {
		l, err := store.Current(ctx, server)
		if l == nil || err != nil {
			return "", err
		}
		return l.IDToken, nil
	}
	return true, nil
}

// useIdentity makes the user of a kubeconfig the caller.
func (f *Flags) useIdentity(c *raygate.Config, id *raygate.Identity) error {
	if c.TLS.Certificates == nil {
		c.TLS.GetClientCertificate = id.Certificate
	}
	plaintext, err := raygate.IsPlaintext(c.Address)
	switch {
	case err != nil:
		return err
	case plaintext && !f.explicit():
		// Do not send the kubeconfig's token to a listener on this machine that the user did not choose.
		f.noTokenWhy = "the kubeconfig's token is not sent in the clear unless --kubeconfig or --context asks for it"
	default:
		c.Token = func(ctx context.Context) (string, error) {
			token, err := id.Token(ctx)
			if token == "" && err == nil {
				f.noTokenWhy = "the kubeconfig's user has no token, and the gateway cannot pass a certificate on: give --token, as from `kubectl create token`"
			}
			return token, err
		}
	}
	return nil
}

// WhyNoToken is the reason why no token was sent; empty if one was sent.
func (f *Flags) WhyNoToken() string { return f.noTokenWhy }
