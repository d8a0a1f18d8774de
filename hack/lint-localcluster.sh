#!/usr/bin/env bash
# Lints the localcluster module with the tools and rules of the main one.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
linter=$(go tool -modfile=go.tools.mod -n golangci-lint)
cd localcluster
# Not cmd/kube: loading it means compiling all of Kubernetes again, for a dispatcher of two files.
"$linter" run --config "$root/.golangci.yml" --timeout 20m ./internal/... ./cmd/ray/... ./cmd/raygate-local/...
