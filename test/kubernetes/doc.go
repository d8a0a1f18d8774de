// Package kubernetes shows what the API server does with CustomResourceDefinitions, as far as ours depend on it: which schemas it takes, how it prunes
// and sets defaults, and what rules in CEL can see and say. The CRDs of the tests are small ones of their own.
//
// It has no code outside its tests. They fail only when Kubernetes changes, so that they run in `make test-all` alone.
package kubernetes
