#!/usr/bin/env bash
# Checks that the libraries of the console are those that their makers published, by the hashes beside them; that needs no network.
# With --fetch it gets them from the npm registry, by version and hash, and writes them anew.
set -euo pipefail
cd "$(dirname "$0")/../apiserver/internal/console/web/vendor"

# Packages with the integrity that the registry states, which is the SHA-512 of the archive in base64. The file of htm has Preact (MIT) in it.
htm=htm@3.1.1
htm_sha512=983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==
preact=preact@10.9.0
preact_sha512=jO6/OvCRL+OT8gst/+Q2ir7dMybZAX8ioP02Zmzh3BkQMHLyqZSujvxbUriXvHi8qmhcHKC2Gwbog6Kt+YTh+Q==
files=(preact-htm.js LICENSE-htm.txt LICENSE-preact.txt)

fetch() { # package, its hash, then pairs of a file in the package and its name here
	local package=$1 want=$2 archive
	shift 2
	archive=$(cd "$work" && npm pack --silent "$package" | tail -1)
	if [ "$(openssl dgst -sha512 -binary "$work/$archive" | base64 -w0)" != "$want" ]; then
		echo "generate-console: $package is not what it was: its SHA-512 differs" >&2
		exit 1
	fi
	while [ $# -gt 0 ]; do
		tar -xzOf "$work/$archive" "package/$1" >"$2"
		shift 2
	done
}

if [ "${1-}" = --fetch ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	fetch $htm $htm_sha512 preact/standalone.module.js preact-htm.js LICENSE LICENSE-htm.txt
	fetch $preact $preact_sha512 LICENSE LICENSE-preact.txt
	sha512sum "${files[@]}" >SHA512SUMS
fi
sha512sum --check --quiet --strict SHA512SUMS
