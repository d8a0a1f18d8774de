#!/usr/bin/env bash
# Runs the tests of both modules. Packages that need a control plane start their own.
set -euo pipefail
cd "$(dirname "$0")/.."

go vet ./...
go test -timeout 20m ./...
(cd localcluster && go test -timeout 10m ./...)
