package verb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"

	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/login"
)

type loginCommand struct {
	flags            *connect.Flags
	issuer, clientID string
	scopes           []string
	tokenStore       string
	port             int
	device           bool
	timeout          time.Duration
}

func newLogin(flags *connect.Flags) *cobra.Command {
	c := &loginCommand{flags: flags}
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in with an identity provider",
		Long: `Log in with an identity provider (OpenID Connect) that the gateway trusts.

The command shows the address of a page. Open it in a browser on this machine and log in
there. With --device the browser may run on any machine. The other commands then use the
login for this gateway and renew it; a token is never sent to another gateway.

The provider and the client are named once. They are kept with the login, in a file that
only you can read: raygate/login.json in your folder for configuration, or
$RAYGATE_LOGIN_FILE. With --token-store=keyring the tokens are in the keyring of the system
instead. The Python client reads both.

Some providers demand a client secret even of programs on the machines of users. Set it in
$RAYGATE_CLIENT_SECRET for the first login.`,
		Example: `  raygate login --server ray.example.com --issuer-url https://login.example.com --client-id raygate
  raygate login --device`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&c.issuer, "issuer-url", "", "address of the identity provider (default that of the last login at this gateway)")
	fs.StringVar(&c.clientID, "client-id", "", "name of a public client in the identity provider (default that of the last login at this gateway)")
	fs.StringSliceVar(&c.scopes, "scopes", nil, "scopes to ask for (default those of the last login, or openid,email,profile,offline_access)")
	fs.StringVar(&c.tokenStore, "token-store", "", "where to keep the tokens: file, keyring, or auto, the keyring if it can be used (default $"+login.EnvTokenStore+", or that of the last login, or file)")
	fs.IntVar(&c.port, "redirect-port", 0, "port of 127.0.0.1 to which the browser returns, for providers that want to know it (default a free one)")
	fs.BoolVar(&c.device, "device", false, "log in by a code, in a browser on any machine")
	fs.DurationVar(&c.timeout, "timeout", 5*time.Minute, "how long to wait for the login")
	return cmd
}

func (c *loginCommand) run(cmd *cobra.Command) error {
	store, server, err := logins(c.flags)
	if err != nil {
		return err
	}
	before, err := store.Load(server)
	if err != nil {
		return err
	}
	if before == nil {
		before = &login.Login{Scopes: login.DefaultScopes}
	}
	l := c.settings(before)
	if l.Issuer == "" || l.ClientID == "" {
		return fmt.Errorf("this is the first login at %s: give --issuer-url and --client-id", server)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), c.timeout)
	defer cancel()
	if c.device {
		err = l.Device(ctx, func(url, code string) {
			fmt.Fprintf(cmd.ErrOrStderr(), "Open this page in a browser and enter the code %s:\n\n  %s\n\n", code, url)
		})
	} else {
		err = l.Browser(ctx, c.port, func(url string) { fmt.Fprintf(cmd.ErrOrStderr(), "Open this page in a browser:\n\n  %s\n\n", url) })
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("nobody logged in within %s", c.timeout)
	}
	if err == nil {
		err = store.Add(server, l, cmp.Or(c.tokenStore, c.flags.Getenv(login.EnvTokenStore), before.TokenStore()))
	}
	if err != nil {
		return printed(cmd, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Logged in to %s as %s\n", server, l.Name())
	return nil
}

// settings returns a login without tokens, with the settings of the flags, else of the last login.
func (c *loginCommand) settings(before *login.Login) *login.Login {
	l := &login.Login{
		Issuer: cmp.Or(c.issuer, before.Issuer), ClientID: cmp.Or(c.clientID, before.ClientID), ClientSecret: c.flags.Getenv(login.EnvClientSecret), Scopes: before.Scopes,
	}
	if l.ClientSecret == "" && l.Issuer == before.Issuer && l.ClientID == before.ClientID {
		l.ClientSecret = before.ClientSecret
	}
	if len(c.scopes) > 0 {
		l.Scopes = c.scopes
	}
	return l
}

// printed prints an error that is none of usage.
func printed(cmd *cobra.Command, err error) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "Error: %v\n", err)
	return &Failed{Code: ExitFailed}
}

// logins returns the store and the gateway that is meant.
func logins(flags *connect.Flags) (*login.Store, string, error) {
	store, err := login.NewStore(flags.Getenv)
	if err != nil {
		return nil, "", err
	}
	server, err := flags.Gateway()
	return store, server, err
}

func newLogout(flags *connect.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Forget the login at a gateway",
		Long: `Forget the login at a gateway, on this machine. The session at the identity provider stays;
log out there to end it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, server, err := logins(flags)
			if err == nil {
				err = store.Save(server, nil)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Logged out of %s\n", server)
			return nil
		},
	}
}

func newCredential(flags *connect.Flags) *cobra.Command {
	bare := false
	cmd := &cobra.Command{
		Use:   "credential",
		Short: "Print the token of a login, for a kubeconfig",
		Long: `Print the token of a login in the form that the exec plugins of kubectl have, and renew the
login if need be. The API server has to trust the identity provider as the gateway does.`,
		Example: `  # In a kubeconfig
  users:
  - name: sso
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1
        interactiveMode: Never
        command: raygate
        args: [credential, --server, ray.example.com]

  # For Ray's own command line
  export RAY_JOB_HEADERS="{\"Authorization\": \"Bearer $(raygate credential --bare)\"}"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, server, err := logins(flags)
			if err != nil {
				return err
			}
			l, err := store.Current(cmd.Context(), server)
			switch {
			case err != nil:
				return printed(cmd, err)
			case l == nil:
				return printed(cmd, fmt.Errorf("there is no login at %s: run raygate login", server))
			case bare:
				fmt.Fprintln(cmd.OutOrStdout(), l.IDToken)
				return nil
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(clientauthv1.ExecCredential{
				TypeMeta: metav1.TypeMeta{APIVersion: clientauthv1.SchemeGroupVersion.String(), Kind: "ExecCredential"},
				Status:   &clientauthv1.ExecCredentialStatus{Token: l.IDToken, ExpirationTimestamp: new(metav1.NewTime(l.Expiry))},
			})
		},
	}
	cmd.Flags().BoolVar(&bare, "bare", false, "print the token alone, for programs that are no plugins")
	return cmd
}
