package telemetry

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/credentials"
)

// Options are where traces and metrics go. The zero value sends nothing.
type Options struct {
	Traces Collector
	// SamplingRatePerMillion is the number of traces that are sent, of a million.
	SamplingRatePerMillion int32
	Metrics                Collector
	// MetricsInterval is the time between two reports of the metrics.
	MetricsInterval time.Duration
}

// NewOptions returns the defaults: nothing is sent.
func NewOptions() Options { return Options{MetricsInterval: time.Minute} }

// Collector is the address of a collector.
type Collector struct {
	// Endpoint is https://host:port, or without TLS http://host:port or host:port. Empty means that nothing is sent.
	Endpoint string
	// CAFile has the CAs of the collector, in PEM. Empty means those of the system.
	CAFile string
}

const flagsOfCollector = "for example https://collector:4317, or http://collector:4317 without TLS; host:port also means without TLS. Empty switches %s off. " +
	"Credentials are in the environment variable OTEL_EXPORTER_OTLP_HEADERS, as name=value pairs, separated by commas."

// AddFlags adds the flags. sampling describes what one of a million is.
func (o *Options) AddFlags(fs *pflag.FlagSet, sampling string) {
	fs.StringVar(&o.Traces.Endpoint, "tracing-endpoint", o.Traces.Endpoint, "OpenTelemetry collector (OTLP over gRPC), "+fmt.Sprintf(flagsOfCollector, "tracing"))
	fs.StringVar(&o.Traces.CAFile, "tracing-ca-file", o.Traces.CAFile, "PEM bundle of the CAs of the collector; those of the system if it is empty.")
	fs.Int32Var(&o.SamplingRatePerMillion, "tracing-sampling-rate-per-million", o.SamplingRatePerMillion, sampling)
	fs.StringVar(&o.Metrics.Endpoint, "metrics-export-endpoint", o.Metrics.Endpoint,
		"OpenTelemetry collector (OTLP over gRPC) that gets the metrics, also without a scrape: "+fmt.Sprintf(flagsOfCollector, "this"))
	fs.StringVar(&o.Metrics.CAFile, "metrics-export-ca-file", o.Metrics.CAFile, "PEM bundle of the CAs of the collector of metrics; those of the system if it is empty.")
	fs.DurationVar(&o.MetricsInterval, "metrics-export-interval", o.MetricsInterval, "Time between two reports of the metrics to the collector.")
}

// Validate returns all errors of the flags.
func (o *Options) Validate() error {
	errs := []error{o.Traces.validate("tracing"), o.Metrics.validate("metrics-export")}
	if o.Metrics.Endpoint != "" && o.MetricsInterval <= 0 {
		errs = append(errs, errors.New("--metrics-export-interval must be positive"))
	}
	return errors.Join(errs...)
}

// InTheClear returns the names of flags with collectors on other machines that are reached without TLS.
func (o *Options) InTheClear() (flags []string) {
	if o.Traces.inTheClear() {
		flags = append(flags, "--tracing-endpoint")
	}
	if o.Metrics.inTheClear() {
		flags = append(flags, "--metrics-export-endpoint")
	}
	return flags
}

// url is the endpoint with a scheme.
func (c Collector) url() (*url.URL, error) {
	text := c.Endpoint
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("is not https://host:port, http://host:port or host:port")
	}
	return u, nil
}

func (c Collector) validate(flags string) error {
	if c.Endpoint == "" {
		if c.CAFile != "" {
			return fmt.Errorf("--%s-ca-file needs --%s-endpoint", flags, flags)
		}
		return nil
	}
	u, err := c.url()
	if err != nil {
		return fmt.Errorf("--%s-endpoint %w", flags, err)
	}
	if u.Scheme != "https" && c.CAFile != "" {
		return fmt.Errorf("--%s-ca-file needs an --%s-endpoint that begins with https://", flags, flags)
	}
	return nil
}

func (c Collector) inTheClear() bool {
	u, err := c.url()
	if c.Endpoint == "" || err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// dial returns the URL of the collector, and how to trust it; nil means that the URL decides, with the CAs of the system.
func (c Collector) dial() (endpoint string, trusted credentials.TransportCredentials, err error) {
	u, err := c.url()
	if err != nil {
		return "", nil, fmt.Errorf("the endpoint %q %w", c.Endpoint, err)
	}
	if u.Scheme == "https" && c.CAFile != "" {
		if trusted, err = credentials.NewClientTLSFromFile(c.CAFile, ""); err != nil {
			return "", nil, fmt.Errorf("reading the CAs of the collector: %w", err)
		}
	}
	return u.String(), trusted, nil
}
