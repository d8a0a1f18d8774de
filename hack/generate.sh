#!/usr/bin/env bash
# Writes every generated file of the repository, in the order in which they depend on each other. With --code it leaves out the pages that
# tests write: the same tests fail in `make test` while a page is old.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

step() { echo "generate: $1"; shift; "$@"; }
step "API deep copies and CRDs" hack/generate-api.sh
step "types of manifests of the Python client" hack/generate-python.sh --manifests
step "RBAC" hack/generate-rbac.sh
step "protos" hack/generate-proto.sh
step "libraries of the console" hack/generate-console.sh
step "admission policies" go run ./hack/internal/policygen
(cd observability && step "dashboards" go run .)
step "pieces of the Helm chart" go run ./hack/internal/chartgen
step "READMEs of the charts" go tool -modfile=go.tools.mod helm-docs --chart-search-root=charts --template-files=./README.md.gotmpl --sort-values-order=file --log-level=error
step "reference of the custom resources" hack/generate-kinds.sh
step "rule catalogue" go run ./hack/internal/rulesdoc
if [ "${1:-}" = --code ]; then exit; fi
step "settings of the operator" go test ./operator/cmd/manager -run "^TestDocumentation$" -count=1 -update
step "flags of the gateway" go test ./apiserver/cmd/apiserver -run "^TestFlagReference$" -count=1 -update
step "commands of raygate" go test ./cmd/raygate/internal/cli -run "^TestReference$" -count=1 -update
step "refusals in docs/moving-from-kuberay.md" go test ./test/docs -run "^TestRefusals$" -count=1 -update
