#!/usr/bin/env bash
# Writes the deep copies of api and the CRDs in operator/config/crd/bases.
set -euo pipefail
cd "$(dirname "$0")/.."

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

# allowDangerousTypes: two fields of RayJob are float32, and have been since before there was a choice.
go tool -modfile=go.tools.mod controller-gen \
  object \
  crd:generateEmbeddedObjectMeta=true,allowDangerousTypes=true \
  paths=./api/ray/... \
  output:crd:dir="$raw"
go run ./hack/crdgen --in "$raw" --out operator/config/crd/bases
