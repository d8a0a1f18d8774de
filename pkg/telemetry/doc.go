// Package telemetry sends traces and metrics of a process to a collector of OpenTelemetry, by OTLP over gRPC, with or without TLS. Operator and
// gateway use it. It knows neither of them: what is traced, and which metrics there are, is decided there.
package telemetry
