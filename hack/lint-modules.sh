#!/usr/bin/env bash
# Lints the modules beside the main one with the tools and rules of it.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh
root=$PWD
linter=$(go tool -modfile=go.tools.mod -n golangci-lint)

# The local cluster and the main module share most packages: one version of each module lets them be compiled once.
versions() { awk '/^\t[a-z].* v/ && !/=>/ {print $1, $2}' "$1" | LC_ALL=C sort; }
if differing=$(LC_ALL=C join <(versions go.mod) <(versions localcluster/go.mod) | awk '$2 != $3' | grep .); then
	printf 'lint: go.mod and localcluster/go.mod have different versions of:\n%s\n' "$differing" >&2
	exit 1
fi

lint() {
	echo "golangci-lint ($1)"
	(cd "$1" && "$linter" run --config "$root/.golangci.yml" --timeout 20m "${@:2}")
}
# Not cmd/kube: loading it means compiling all of Kubernetes again, for a dispatcher of two files.
lint localcluster ./internal/... ./cmd/ray/... ./cmd/raygate-local/...
for module in hack/release hack/site hack/thirdparty observability test/console; do
	lint "$module" ./...
done
