// Package attack holds the tests that attack the built gateway as docs/security.md says that it is attacked: by a tenant who owns a namespace and the head
// of a cluster, by a page of another site in somebody's browser, and by a reader of traces and access logs. Each test sends the requests of an attack and
// demands that the effect did not happen: nothing was connected to, created, or shown. Beside each attack there is the honest request that works, so that an
// attack does not fail for another reason.
//
// There are two tenants, team-a and team-b. The gateway has the rights of the manifests, and reaches heads directly, as in a cluster: head Pods have an address
// of this machine. What a tenant makes DNS answer is in a hosts file that only the gateway sees; where the system lets nobody do that (unshare), names do
// not resolve.
//
// It has no code outside its tests. The programs must have been built (`make build`); -gateway attacks another build.
package attack
