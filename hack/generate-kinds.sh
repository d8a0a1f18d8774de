#!/usr/bin/env bash
# Writes docs/kinds.md, the reference of the custom resources, from the types in api/ray/v1.
set -euo pipefail
cd "$(dirname "$0")/.."

generator=$(go tool -modfile=go.tools.mod -n crd-ref-docs)
page=$(mktemp)
trap 'rm -f "$page"' EXIT
(cd api && "$generator" --source-path=ray/v1 --config=../hack/crd-ref-docs.yaml --renderer=markdown --log-level=ERROR --output-path="$page")
cat >docs/kinds.md <<'END'
# Reference of the custom resources

The types in `api/ray/v1`, by `make generate`. `kubectl explain` prints the same texts. [validation.md](validation.md) has the rules,
[reference.md](reference.md) the API of the gateway.

**Default** is what the API server stores when the field is left out. What the operator assumes of an unset field is in its description.
`v1alpha1` has the same kinds and is deprecated.
END
# The title is ours, and a page does not need a list of its only package.
sed '1,/^- \[ray\.io\/v1\]/d' "$page" | sed -e 's/[[:space:]]*$//' | cat -s >>docs/kinds.md
