// Package raydevices says what device admission makes of the Pods of a Ray object before there are any: which of them it would refuse, with the field and
// what to do, and what it would warn of. Gateway, webhook and command line ask it; it is a function of the object and the registry.
package raydevices
