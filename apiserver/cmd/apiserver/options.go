package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/version"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/login"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/pkg/telemetry"
	"github.com/raygate/raygate/pkg/validation"
)

// Options are the flags of the process; AddFlags describes them.
type Options struct {
	Kubeconfig string
	QPS        float32
	Burst      int

	Authentication          string
	InsecureAllowRemoteNone bool
	ClientCAFile            string
	AuthenticationConfig    string
	TokenAudiences          []string
	LoginConfig             string
	RequestHeader           RequestHeader
	Namespaces              []string
	V1                      V1Options

	GRPCAddress, HTTPAddress, MetricsAddress string
	TLSCertFile, TLSKeyFile                  string
	CORSAllowedOrigins                       []string
	MaxConnectionAge                         time.Duration
	CallTimeout                              time.Duration
	DrainDelay, DrainTimeout                 time.Duration
	PageTokenKeyFiles                        []string
	PageTokenSecret                          string

	// Limits of concurrent calls. The limits of single callers do not apply if there is only one.
	Limits flowcontrol.Limits
	// MemoryLimit is a quantity. Empty means the limit of GOMEMLIMIT, else that of the container.
	MemoryLimit string

	Telemetry telemetry.Options

	// ProfileNamespace has the profiles for all namespaces; empty means none.
	ProfileNamespace string
	// HistoryStore is the URL of the history of ended objects; empty means none.
	HistoryStore string
	// DashboardPages is the folder of Ray's own pages; empty means none.
	DashboardPages string
	Packages       PackageOptions
	// EnableConsole serves the web console.
	EnableConsole bool
	// UseKubernetesProxy reaches the dashboards of clusters through the API server.
	UseKubernetesProxy bool
	// DeviceRegistry is a file with families of shared accelerators, or "shipped", that diagnoses plan Pods with; empty for none.
	DeviceRegistry string
	FeatureGates   []string
	Logging        *logsapi.LoggingConfiguration

	restConfig *rest.Config
	// pageTokenKeys are the secrets of tokens: the first seals, all open.
	pageTokenKeys [][]byte
	gates         map[validation.Gate]bool
	issuers       *apiserver.AuthenticationConfiguration // nil without --authentication-config
	login         *login.Config                          // nil without --login-config
	devices       deviceRegistry
	memory        memory
}

// RequestHeader is how a trusted proxy names callers.
type RequestHeader struct {
	ClientCAFile        string
	AllowedNames        []string
	UsernameHeaders     []string
	UIDHeaders          []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		QPS: -1, Burst: 100, Authentication: string(authn.Passthrough),
		GRPCAddress: ":8887", HTTPAddress: ":8888", MetricsAddress: ":9090",
		DrainTimeout: 20 * time.Second, Logging: logsapi.NewLoggingConfiguration(), MaxConnectionAge: 10 * time.Minute, CallTimeout: time.Minute,
		EnableConsole: true, Telemetry: telemetry.NewOptions(), Packages: PackageOptions{MaxSize: "512Mi", NamespaceSize: "10Gi", Keep: 14 * 24 * time.Hour},
		V1: V1Options{Enabled: true, KubernetesPaths: true, Authentication: v1Passthrough},
		RequestHeader: RequestHeader{
			UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraHeaderPrefixes: []string{"X-Remote-Extra-"},
		},
		Limits: flowcontrol.Limits{
			Calls: 1000, CallerCalls: 200, Long: 10000, CallerLong: 2000, CallerRate: 1000, CallerBurst: 2000, Unidentified: 256,
		},
	}
}

// AddFlags adds the flags to fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Kubeconfig file. Without it: the service account of the Pod, else what kubectl would use.")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Requests per second to the Kubernetes API server; negative means no limit.")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Burst above --kube-api-qps.")
	fs.StringVar(&o.Authentication, "authentication", o.Authentication, "Authentication of callers. passthrough: Kubernetes authenticates and authorizes the caller's bearer token. impersonate: the gateway acts as the user that a client certificate, a trusted proxy or a token of an identity provider names. none: all callers have the rights of this process; it listens on loopback only.")
	fs.BoolVar(&o.InsecureAllowRemoteNone, "insecure-allow-remote-none", o.InsecureAllowRemoteNone, "Let --authentication=none listen beyond loopback. Anyone who reaches the port then has all rights of this process.")
	fs.StringVar(&o.GRPCAddress, "grpc-address", o.GRPCAddress, "Address of the gRPC server.")
	fs.StringVar(&o.HTTPAddress, "http-address", o.HTTPAddress, "Address of the REST server; empty switches it off.")
	fs.StringVar(&o.MetricsAddress, "metrics-address", o.MetricsAddress, "Address of the Prometheus metrics; empty switches them off.")
	fs.StringVar(&o.TLSCertFile, "tls-cert-file", o.TLSCertFile, "PEM certificate chain for gRPC and REST, read again when it changes. Without it both speak plain text.")
	fs.StringVar(&o.TLSKeyFile, "tls-private-key-file", o.TLSKeyFile, "PEM private key of --tls-cert-file.")
	fs.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces, "Namespaces to serve, for a gateway without rights on the whole cluster; lists and watches then name one of them. Empty means all.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile, "PEM bundle of CAs for client certificates; changes are reloaded. With --authentication=impersonate, the certificate names the caller (common name: user, organizations: groups). With passthrough, connections without such a certificate are refused.")
	fs.StringVar(&o.AuthenticationConfig, "authentication-config", o.AuthenticationConfig, "AuthenticationConfiguration of Kubernetes with the issuers whose tokens name callers (OpenID Connect), for --authentication=impersonate. It may be the file of kube-apiserver. Users and groups that begin with system: are refused.")
	fs.StringSliceVar(&o.TokenAudiences, "token-audiences", o.TokenAudiences, "Audiences of ServiceAccount tokens that name callers, as in raygate, for --authentication=impersonate. Pods get such a token by a projected volume. It is of no use at the API server.")
	fs.StringVar(&o.LoginConfig, "login-config", o.LoginConfig, "File with the identity providers by which people log in to the console, for --authentication-config: redirectURL, providers with issuerURL, clientID and clientSecretFile.")
	fs.StringSliceVar(&o.CORSAllowedOrigins, "cors-allowed-origins", o.CORSAllowedOrigins, "Sites whose pages may use the REST API, for example https://example.org or https://*.example.org. * allows all sites if callers need a token. If callers need none (--authentication=none or impersonate, --v1-authentication=none), * allows only pages of this machine, and only on loopback.")
	fs.DurationVar(&o.MaxConnectionAge, "max-connection-age", o.MaxConnectionAge, "How long a gRPC connection and its streams live, so that clients spread over replicas; streams end with a token to resume from. 0 means without end.")
	fs.DurationVar(&o.CallTimeout, "call-timeout", o.CallTimeout, "How long a short call may take. A client may set an earlier deadline.")
	fs.StringVar(&o.MemoryLimit, "memory-limit", o.MemoryLimit, "Memory that the process may take, as in 512Mi; it bounds what is held for callers and what is kept of objects. Empty means GOMEMLIMIT, else the limit of the container.")
	fs.StringVar(&o.HistoryStore, "history-store", o.HistoryStore, "Store of the history that the operator writes, with the same URL: logs of jobs are served from it after their clusters are gone. Unset: off.")
	fs.StringVar(&o.ProfileNamespace, "profile-namespace", o.ProfileNamespace, "Namespace with the profiles for all namespaces: ConfigMaps that a caller may use with the right to get them. They come before profiles of the same name in the caller's namespace. Unset: each namespace has only its own.")
	fs.StringVar(&o.DashboardPages, "dashboard-pages", o.DashboardPages, "Folder with the pages of Ray's dashboard, a copy of ray/dashboard/client/build of Ray's wheel: browsers see past sessions of --history-store in them. Unset: off.")
	fs.BoolVar(&o.EnableConsole, "enable-console", o.EnableConsole, "Serve the web console at /ui/ of the REST address. People log in with a Kubernetes token, or are who --authentication says.")
	fs.BoolVar(&o.UseKubernetesProxy, "use-kubernetes-proxy", o.UseKubernetesProxy, "Reach the dashboards of Ray clusters through the Service proxy of the API server, with the caller's credentials, for a gateway outside of the Kubernetes cluster.")
	fs.StringVar(&o.DeviceRegistry, "device-registry", o.DeviceRegistry, "File with families of shared accelerators, or \"shipped\" for those that come with the operator: diagnoses say which Pods device admission refuses. Give it what the operator has. The file is read again when it changes. Unset: off.")
	fs.StringSliceVar(&o.FeatureGates, "feature-gates", o.FeatureGates, "Feature gates of the operator that differ from its defaults, for example RayClusterMTLS=true. Validation then gives the same result as in the operator.")
	fs.StringSliceVar(&o.PageTokenKeyFiles, "page-token-key-file", o.PageTokenKeyFiles, "Files with secrets of at least 32 bytes, the same for all replicas, so that page tokens and tickets of dashboards work on each replica and after restarts. The first secret signs; the others are accepted, too, so that a secret can be replaced. Without a file and --page-token-secret, the secret is derived from the TLS key, if there is one.")
	fs.StringVar(&o.PageTokenSecret, "page-token-secret", o.PageTokenSecret, "namespace/name of a Secret in place of --page-token-key-file. The gateway needs the rights to get and update it. The entry named key signs page tokens and tickets; the gateway creates it if it is missing. Other entries are accepted, too. Replicas also share by it which sessions of --login-config have ended.")
	fs.DurationVar(&o.DrainDelay, "drain-delay", o.DrainDelay, "Time for which the gateway serves requests after it reports not ready, so that load balancers can react. 5s suits a Deployment.")
	fs.DurationVar(&o.DrainTimeout, "drain-timeout", o.DrainTimeout, "How long running calls may take to finish at the end.")
	o.V1.addFlags(fs)
	o.Packages.addFlags(fs)
	o.RequestHeader.addFlags(fs)
	addLimitFlags(&o.Limits, fs)
	o.Telemetry.AddFlags(fs, sampling)
	logsapi.AddFlags(o.Logging, fs)
}

func (h *RequestHeader) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&h.ClientCAFile, "requestheader-client-ca-file", h.ClientCAFile, "PEM bundle of CAs of the proxies that may name callers in headers, for --authentication=impersonate.")
	fs.StringSliceVar(&h.AllowedNames, "requestheader-allowed-names", h.AllowedNames, "Common names that the certificate of such a proxy may have; empty means any.")
	fs.StringSliceVar(&h.UsernameHeaders, "requestheader-username-headers", h.UsernameHeaders, "Headers with the user name.")
	fs.StringSliceVar(&h.UIDHeaders, "requestheader-uid-headers", h.UIDHeaders, "Headers with the UID.")
	fs.StringSliceVar(&h.GroupHeaders, "requestheader-group-headers", h.GroupHeaders, "Headers with groups.")
	fs.StringSliceVar(&h.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", h.ExtraHeaderPrefixes, "Beginnings of headers with extra information about the user.")
}

func addLimitFlags(l *flowcontrol.Limits, fs *pflag.FlagSet) {
	fs.Float64Var(&l.CallerRate, "caller-qps", l.CallerRate, "Calls per second that each caller may begin; negative means no limit. Callers beyond it get RESOURCE_EXHAUSTED, by REST 429, with the time after which to try again.")
	fs.IntVar(&l.CallerBurst, "caller-burst", l.CallerBurst, "Burst above --caller-qps.")
	fs.IntVar(&l.CallerCalls, "max-caller-calls-in-flight", l.CallerCalls, "Short calls that each caller may have in flight.")
	fs.IntVar(&l.CallerLong, "max-caller-streams", l.CallerLong, "Watches and waiting calls that each caller may have open.")
	fs.IntVar(&l.Calls, "max-calls-in-flight", l.Calls, "Short calls in flight of all callers.")
	fs.IntVar(&l.Long, "max-streams", l.Long, "Watches and waiting calls of all callers.")
}

// Complete fills in defaults and reads files.
func (o *Options) Complete(fs *pflag.FlagSet) error {
	if err := o.devices.open(o.DeviceRegistry); err != nil {
		return err
	}
	if o.Authentication == string(authn.None) && !o.InsecureAllowRemoteNone {
		// A default address moves to loopback; Validate checks an explicit one.
		for flag, address := range map[string]*string{"grpc-address": &o.GRPCAddress, "http-address": &o.HTTPAddress, "metrics-address": &o.MetricsAddress} {
			if !fs.Changed(flag) {
				*address = "127.0.0.1" + *address
			}
		}
	}
	err := errors.Join(o.readMemory(), o.readPageTokenKeys(), o.V1.readToken())
	if err != nil {
		return err
	}
	if o.gates, err = validation.ParseGates(o.FeatureGates...); err != nil {
		return fmt.Errorf("reading --feature-gates: %w", err)
	}
	if err := o.readIssuers(); err != nil {
		return err
	}
	config, err := o.loadConfig()
	if err != nil {
		return fmt.Errorf("finding the Kubernetes API server: %w (use --kubeconfig)", err)
	}
	config.QPS, config.Burst = o.QPS, o.Burst
	config.UserAgent = "raygate-apiserver/" + version.Get().GitVersion
	o.restConfig = config
	return nil
}

// readIssuers reads the files about identity providers.
func (o *Options) readIssuers() (err error) {
	if o.AuthenticationConfig == "" {
		return nil
	}
	if o.issuers, err = issuers.Load(o.AuthenticationConfig); err != nil {
		return fmt.Errorf("--authentication-config: %w", err)
	}
	if o.LoginConfig != "" {
		if o.login, err = login.Load(o.LoginConfig, o.issuers); err != nil {
			return fmt.Errorf("--login-config: %w", err)
		}
	}
	return nil
}

func (o *Options) loadConfig() (*rest.Config, error) {
	if o.Kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}

// Validate returns everything that is wrong.
func (o *Options) Validate() error {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	o.validateAuthentication(check)
	o.validateV1(check)
	o.Packages.validate(o.HistoryStore, check)
	check(o.DashboardPages != "" && o.HistoryStore == "", "--dashboard-pages needs --history-store")
	errs = append(errs, o.Telemetry.Validate())
	for _, ns := range o.Namespaces {
		problems := apivalidation.IsDNS1123Label(ns)
		check(len(problems) > 0, "--namespaces: %q is not a namespace: %s", ns, strings.Join(problems, "; "))
	}
	problems := apivalidation.IsDNS1123Label(o.ProfileNamespace)
	check(o.ProfileNamespace != "" && len(problems) > 0, "--profile-namespace: %q is not a namespace: %s", o.ProfileNamespace, strings.Join(problems, "; "))
	check(o.PageTokenSecret != "" && !isNamespacedName(o.PageTokenSecret), "--page-token-secret=%s is not the namespace/name of a Secret", o.PageTokenSecret)
	check(o.CallTimeout <= 0, "--call-timeout must be positive")
	check(mostVerbose(o.Logging) > maxVerbosity, "--v and --vmodule must not exceed %d: from there on the bodies of requests to Kubernetes are logged, tokens and Secrets among them", maxVerbosity)
	check(o.MaxConnectionAge < 0, "--max-connection-age must not be negative")
	check(o.GRPCAddress == "", "--grpc-address is required")
	check(o.DrainTimeout <= 0 || o.DrainDelay < 0, "--drain-timeout must be positive and --drain-delay not negative")
	return errors.Join(errs...)
}

// validateAuthentication checks how callers are identified.
func (o *Options) validateAuthentication(check func(wrong bool, format string, args ...any)) {
	impersonate := false
	switch authn.Mode(o.Authentication) {
	case authn.Passthrough:
	case authn.Impersonate:
		impersonate = true
		check(o.AuthenticationConfig == "" && len(o.TokenAudiences) == 0 && (o.TLSCertFile == "" || o.ClientCAFile+o.RequestHeader.ClientCAFile == ""),
			"--authentication=impersonate needs --authentication-config, --token-audiences, or --tls-cert-file with --client-ca-file or --requestheader-client-ca-file")
	case authn.None:
		o.checkLocal(check, "--authentication=none anyone who connects has all rights of this process")
	default:
		check(true, "--authentication=%s is not known: use passthrough, impersonate or none", o.Authentication)
	}
	check((o.TLSCertFile == "") != (o.TLSKeyFile == ""), "--tls-cert-file and --tls-private-key-file go together")
	check(o.ClientCAFile+o.RequestHeader.ClientCAFile != "" && o.TLSCertFile == "", "--client-ca-file and --requestheader-client-ca-file need --tls-cert-file")
	check(o.RequestHeader.ClientCAFile != "" && !impersonate, "--requestheader-client-ca-file is for --authentication=impersonate")
	check(o.AuthenticationConfig != "" && !impersonate, "--authentication-config is for --authentication=impersonate")
	check(len(o.TokenAudiences) > 0 && !impersonate, "--token-audiences is for --authentication=impersonate: with passthrough, Kubernetes decides about audiences")
	o.validateLogin(check)
}

// validateLogin checks how people log in to the console.
func (o *Options) validateLogin(check func(wrong bool, format string, args ...any)) {
	check(o.LoginConfig != "" && o.AuthenticationConfig == "", "--login-config needs --authentication-config, which says what the tokens of the providers mean")
	check(o.LoginConfig != "" && !o.EnableConsole, "--login-config needs --enable-console, whose pages people log in to")
}

// maxVerbosity is up to where client-go logs no headers and bodies.
const maxVerbosity = 6

// mostVerbose is the highest level at which anything is logged.
func mostVerbose(c *logsapi.LoggingConfiguration) logsapi.VerbosityLevel {
	most := c.Verbosity
	for _, module := range c.VModule {
		most = max(most, module.Verbosity)
	}
	return most
}

// checkLocal requires loopback addresses if callers need no credentials. danger describes what remote callers could do.
func (o *Options) checkLocal(check func(wrong bool, format string, args ...any), danger string) {
	for flag, address := range map[string]string{"--grpc-address": o.GRPCAddress, "--http-address": o.HTTPAddress} {
		check(!o.InsecureAllowRemoteNone && address != "" && !gateway.IsLoopback(address),
			"%s=%s reaches beyond this machine, and with %s: use 127.0.0.1, or add --insecure-allow-remote-none", flag, address, danger)
	}
}

// isNamespacedName reports whether text is namespace/name.
func isNamespacedName(text string) bool {
	namespace, name, _ := strings.Cut(text, "/")
	return len(apivalidation.IsDNS1123Label(namespace)) == 0 && len(apivalidation.IsDNS1123Subdomain(name)) == 0
}

// inTheClear returns the addresses at which tokens would leave this machine unencrypted.
func (o *Options) inTheClear() []string {
	if o.TLSCertFile != "" || o.Authentication == string(authn.None) {
		return nil
	}
	return slices.DeleteFunc([]string{o.GRPCAddress, o.HTTPAddress}, func(address string) bool { return address == "" || gateway.IsLoopback(address) })
}

// limits are the limits without those of single callers if all calls have the same caller.
func (o *Options) limits() flowcontrol.Limits {
	l := o.Limits
	l.Bytes, l.CallerBytes = o.memory.callers, o.memory.caller
	if o.Authentication == string(authn.None) {
		l.CallerCalls, l.CallerLong, l.CallerRate, l.CallerBytes = 0, 0, 0, l.Bytes
	}
	return l
}
