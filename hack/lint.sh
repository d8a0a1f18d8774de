#!/usr/bin/env bash
# Lints the protos and all modules with the rules of the main one, and holds the versions of modules together.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh
root=$PWD
linter=$(compile_freely && go tool -modfile=go.tools.mod -n golangci-lint)
export GOGC=${GOGC:-400} GOMEMLIMIT=${GOMEMLIMIT:-6GiB} # a quarter of the CPU of the linters was garbage collection

# These and the tools share many packages with the main module: one version of each module lets them be compiled once.
versions() { awk '/^\t[a-z].* v/ && !/=>/ {print $1, $2}' "$1" | LC_ALL=C sort; }
for beside in go.tools.mod $(printf '%s/go.mod ' $libraries localcluster hack/release observability test/bench test/console); do
	if differing=$(LC_ALL=C join <(versions go.mod) <(versions "$beside") | awk '$2 != $3' | grep .); then
		printf 'lint: go.mod and %s have different versions of:\n%s\n' "$beside" "$differing" >&2
		exit 1
	fi
done
# Who imports these gets what their go.mod needs, and nothing of an operator or a gateway.
for module in $libraries; do
	if heavy=$(cd "$module" && go mod graph | grep -oE ' (sigs\.k8s\.io/(controller-runtime|kustomize)|k8s\.io/(apiserver|apiextensions-apiserver))[^ ]*@' | sort -u); then
		printf 'lint: who imports %s would get:\n%s\n' "$module" "$heavy" >&2
		exit 1
	fi
done

lint() {
	echo "golangci-lint ($1)"
	(cd "$1" && "$linter" run --config "$root/.golangci.yml" --timeout 20m "${@:2}")
}
echo "buf lint"
go tool -modfile=go.tools.mod buf lint
lint . ./...
# Not cmd/kube: loading it means compiling all of Kubernetes again, for a dispatcher of two files.
lint localcluster ./internal/... ./cmd/ray/... ./cmd/raygate-local/...
for module in $libraries hack/release hack/internal/thirdparty observability test/bench test/console test/oidc test/s3; do
	lint "$module" ./...
done
