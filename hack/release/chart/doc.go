// Package chart has the tests of the Helm chart in charts/raygate: what it renders, whether it matches the manifests for kustomize, and
// which values are valid. It is in the module of the release tools, because Helm is not part of the product.
package chart
