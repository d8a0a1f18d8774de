#!/usr/bin/env bash
# Gets axe-core, which the tests of the console use, by npm and its configuration: of the package that INTEGRITY pins, the files that are committed in
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
archive=$work/$(npm pack --silent --pack-destination "$work" "axe-core@$VERSION" | tail -n 1)
if [ "$(openssl dgst -sha512 -binary "$archive" | base64 -w0)" != "$INTEGRITY" ]; then
	echo "fetch-axe: the package is not the one that is pinned" >&2
	exit 1
fi
tar -xzf "$archive" -C "$work"
files=(axe.min.js LICENSE LICENSE-3RD-PARTY.txt)
for file in "${files[@]}"; do cp "$work/package/$file" "$target/"; done
cd "$target"
sha512sum "${files[@]}" >SHA512SUMS
