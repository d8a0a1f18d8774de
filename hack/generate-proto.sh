#!/usr/bin/env bash
# Writes third_party/, the Go code, the OpenAPI document and the reference page of the protos, after buf has linted their sources.
set -euo pipefail
cd "$(dirname "$0")/.."

go -C hack/internal/thirdparty run . -dir "$PWD/third_party" # a module of its own, for its printer of protos
go tool -modfile=go.tools.mod buf lint
# The plugins write over what is there but never delete, so what has lost its source has to go first.
rm -rf proto/gen/go proto/gen/openapi/kuberay
go tool -modfile=go.tools.mod buf generate
go tool -modfile=go.tools.mod buf generate --template buf.gen.kuberay.yaml
go run ./hack/internal/openapi
go tool -modfile=go.tools.mod buf generate --template hack/internal/apidoc/buf.gen.yaml
