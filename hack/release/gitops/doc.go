// Package gitops holds the tests of what Argo CD, Flux and other tools make of Ray objects. operator/internal/readiness writes the states
// that they judge into samples/gitops/argocd/health. It is in the module of the release tools, since neither Lua nor kstatus is part of
// the product.
package gitops
