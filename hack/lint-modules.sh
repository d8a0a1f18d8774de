#!/usr/bin/env bash
# Lints the modules beside the main one with the tools and rules of it.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh
root=$PWD
linter=$(go tool -modfile=go.tools.mod -n golangci-lint)

lint() {
	echo "golangci-lint ($1)"
	(cd "$1" && "$linter" run --config "$root/.golangci.yml" --timeout 20m "${@:2}")
}
# Not cmd/kube: loading it means compiling all of Kubernetes again, for a dispatcher of two files.
lint localcluster ./internal/... ./cmd/ray/... ./cmd/raygate-local/...
for module in hack/release hack/site hack/thirdparty observability test/console; do
	lint "$module" ./...
done
