// Package config is the configuration file of the operator: its form, how it is read, and what may stand in it. It knows
// neither flags nor environment; cmd puts the three together.
package config
