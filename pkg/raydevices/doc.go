// Package raydevices predicts what device admission does to the Pods of a Ray object before they exist: which of them it would refuse, with
// the field and a remedy, and its warnings. Gateway, webhook and command line use it. It depends only on the object and the registry.
package raydevices
