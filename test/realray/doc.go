// Package realray holds the tests with real Ray: the built programs run on a control plane with real nodes, Pods are containers of an image
// of Ray, and every answer is Ray's own. They need Linux and root, and run by `make test-ray` (the core) and `make test-ray-all`; `go test`
// alone leaves them out.
//
// It has no code outside its tests. What they need is built by hack/test-ray.sh.
package realray
