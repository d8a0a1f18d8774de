// Package devices describes families of accelerators that can be shared: the resource names in which Pods ask for them, the units,
// rules and defaults of these names, what is added to containers that have one, and how the devices count in Ray. A family is
// data: a new one is an entry in a file, never code.
//
// This package holds the types, reads a file strictly and checks what can be seen without trying it. Package plan carries entries
// out, package load does all of it, package shipped holds the families that come with the operator.
package devices
