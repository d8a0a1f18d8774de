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

This page is generated from the types in `api/ray/v1`. `kubectl explain` prints the same texts. [raycluster.md](raycluster.md), [rayjob.md](rayjob.md) and
[rayservice.md](rayservice.md) describe the behaviour, [validation.md](validation.md) the rules, and [reference.md](reference.md) the API of the gateway.

**Default** is the value that the API server stores if the field is omitted. The description of a field names the value that the operator assumes if the field is unset.
`v1alpha1` has the same kinds and is deprecated.
END
# The page has its own title. It needs neither a list of its only package, nor the package comment for developers.
sed '1,/^- \[ray\.io\/v1\]/d' "$page" | sed -e '/^Package v1 /,/^### Resource Types/{/^### Resource Types/!d}' \
	-e 's/Optional: \\{\\} <br \/>/Optional/g' -e 's/[[:space:]]*$//' | cat -s >>docs/kinds.md
