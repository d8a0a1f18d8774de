// Package chart holds the tests of the Helm charts, most of all of charts/raygate: what it renders, that it says the same as the manifests
// for kustomize, and what its values may be. It is in the module of the release tools, since Helm is no part of the product.
package chart
