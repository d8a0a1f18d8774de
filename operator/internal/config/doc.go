// Package config defines the configuration file of the operator: its format, decoding and validation. It reads neither flags nor
// environment variables; cmd merges them.
package config
