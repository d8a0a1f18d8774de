#!/usr/bin/env bash
# Writes references from Go types: docs/kinds.md, the custom resources, from api/ray/v1, and docs/device-registry.md from pkg/devices.
set -euo pipefail
cd "$(dirname "$0")/.."

generator=$(go tool -modfile=go.tools.mod -n crd-ref-docs)
page=$(mktemp)
trap 'rm -f "$page"' EXIT

# reference FOLDER PACKAGE prints the types of a package. The pages have their own titles. They need neither a list of their only package, nor the package
# comment for developers.
reference() {
	(cd "$1" && "$generator" --source-path="$2" --config="$OLDPWD/hack/crd-ref-docs.yaml" --renderer=markdown --log-level=ERROR --output-path="$page")
	sed '1,/^- \[[a-z.]*\.io\/v1/d' "$page" | sed -e '/^Package [a-z0-9]* /,/^### Resource Types/{/^### Resource Types/!d}' \
		-e 's/Optional: \\{\\} <br \/>/Optional/g' -e 's/[[:space:]]*$//' | cat -s
}

cat >docs/kinds.md <<'END'
# Reference of the custom resources

This page is generated from the types in `api/ray/v1`. `kubectl explain` prints the same texts. [raycluster.md](raycluster.md), [rayjob.md](rayjob.md) and
[rayservice.md](rayservice.md) describe the behaviour, [validation.md](validation.md) the rules, and [reference.md](reference.md) the API of the gateway.

**Default** is the value that the API server stores if the field is omitted. The description of a field names the value that the operator assumes if the field is unset.
`v1alpha1` has the same kinds and is deprecated.
END
reference api ray/v1 >>docs/kinds.md

cat >docs/device-registry.md <<'END'
# Reference of the device registry

This page is generated from the types in `pkg/devices`. [Device admission](device-admission.md#the-registry) has an example. An omitted field is empty, zero or false, unless its description
names a default.
END
reference . pkg/devices | sed -e '/^| `apiVersion` _string_ | `/d' -e '/^| `kind` _string_ | `/d' -e 's/ |  |  |$/ |/' -e 's/^| Field | Description | Default | Validation |$/| Field | Description |/' \
	-e 's/^| --- | --- | --- | --- |$/| --- | --- |/' >>docs/device-registry.md
