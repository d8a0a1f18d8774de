#!/usr/bin/env bash
# Gets axe-core, which the tests of the console use, from npm's registry: of the package that INTEGRITY pins, the files that are committed in
# test/console/internal/axe. With --check it compares these with SHA512SUMS, without network.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=4.14.1
INTEGRITY=FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==
target=test/console/internal/axe

if [ "${1:-}" = --check ]; then
	cd "$target"
	exec sha512sum --check --quiet --strict SHA512SUMS
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curl -fsSL -o "$work/axe.tgz" "https://registry.npmjs.org/axe-core/-/axe-core-$VERSION.tgz"
if [ "$(openssl dgst -sha512 -binary "$work/axe.tgz" | base64 -w0)" != "$INTEGRITY" ]; then
	echo "fetch-axe: the package is not the one that is pinned" >&2
	exit 1
fi
tar -xzf "$work/axe.tgz" -C "$work"
files=(axe.min.js LICENSE LICENSE-3RD-PARTY.txt)
for file in "${files[@]}"; do cp "$work/package/$file" "$target/"; done
cd "$target"
sha512sum "${files[@]}" >SHA512SUMS
