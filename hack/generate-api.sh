#!/usr/bin/env bash
# Writes the deep copies of api and the CRDs in operator/config/crd/bases.
set -euo pipefail
cd "$(dirname "$0")/.."

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

# allowDangerousTypes: two fields of RayJob are float32, and have been since before there was a choice.
generator=$(go tool -modfile=go.tools.mod -n controller-gen)
cd api # a module of its own
"$generator" \
  object \
  crd:generateEmbeddedObjectMeta=true,allowDangerousTypes=true \
  paths=./ray/... \
  output:crd:dir="$raw"
cd ..
go run ./hack/internal/crdgen --in "$raw" --out operator/config/crd/bases
