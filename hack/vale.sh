#!/usr/bin/env bash
# Checks the prose of the documents by the rules in hack/vale/styles: hack/vale.sh [FILE...]. Vale is built from hack/tools/vale/go.mod and needs a C compiler;
# the first build takes a minute or two, a run a second.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

if [ $# = 0 ]; then
	set -- *.md docs/*.md docs/internals/*.md charts/*/templates/NOTES.txt
fi
vale=$(CGO_ENABLED=1 go tool -modfile=hack/tools/vale/go.mod -n vale)
exec "$vale" --config=hack/vale/vale.ini --output=line "$@"
