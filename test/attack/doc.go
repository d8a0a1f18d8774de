// Package attack has the tests that attack the built gateway according to docs/security.md. The attackers are a tenant who owns a namespace
// and the head of a cluster, a page of another site in a user's browser, and a reader of traces and access logs. Each test sends the
// requests of an attack and requires that nothing was connected to, created, or shown. Beside each attack there is the legitimate request
// that works, so that an attack does not fail for another reason.
//
// There are two tenants, team-a and team-b. The gateway has the rights of the manifests, and reaches heads directly, as in a cluster: head
// Pods have an address of this machine. The DNS answers of a tenant are in a hosts file that only the gateway sees. On systems without the
// right to do that (unshare), names do not resolve.
//
// It has no code outside its tests. The programs must have been built (`make build`); -gateway attacks another build.
package attack
