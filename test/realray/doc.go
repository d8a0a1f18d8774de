// Package realray has the tests with real Ray: the built programs run on a control plane with real nodes, Pods are containers of a Ray
// image, and every answer comes from Ray. They need Linux and root. `make test-ray` runs the core and `make test-ray-all` all of them;
// plain `go test` skips them.
//
// It has no code outside its tests. hack/test-ray.sh builds their prerequisites.
package realray
