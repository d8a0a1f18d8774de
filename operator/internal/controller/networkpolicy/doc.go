// Package networkpolicy keeps the NetworkPolicies that fence the Pods of RayClusters off. It is apart from package raycluster
// because it writes nothing but policies: what goes wrong with them holds up no Pod, and no Pod holds up them.
//
// It must not decide what a policy says (operator/internal/build/netpol).
package networkpolicy
