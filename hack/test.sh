#!/usr/bin/env bash
# Runs the tests of all modules. Packages that need a control plane start their own.
set -euo pipefail
cd "$(dirname "$0")/.."

export GOFLAGS="${GOFLAGS:-} -vet=off" # the linters of `make verify` vet; to vet once more takes minutes where caches are cold
go test -timeout 20m ./...
# The release tools and the Helm chart: helm lint, what the chart renders, that it says the same as kustomize.
(cd hack/release && go test -timeout 10m ./...)
# Not cmd/kube: it has no tests, and go test would compile all of Kubernetes with other flags than the build.
(cd localcluster && go test -timeout 10m ./internal/... ./cmd/ray/... ./cmd/raygate-local/...)
(cd observability && go test ./...)
(cd hack/site && go test ./...)
