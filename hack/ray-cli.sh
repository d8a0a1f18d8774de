#!/usr/bin/env bash
# Prints the folder of Ray's own command-line tools, of the version of the image, in a virtual environment of their own below bin/python. They come from PyPI.
# Where that cannot be had it says why in one line and ends with status 3, or 1 with REQUIRED=1; with --present it does not install them.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(cat hack/ray-image/VERSION)
venv=bin/python/ray-$version
lacking() { echo "ray-cli: $1" >&2; exit $((${REQUIRED:-0} == 1 ? 1 : 3)); }
if [ ! -x "$venv/bin/ray" ]; then
	[ "${1:-}" != --present ] || lacking "Ray's own command line is not installed; make test-ray does it"
	base=$(hack/python.sh) || exit $?
	mkdir -p bin/python
	work=$(mktemp -d bin/python/new.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	"$base" -m venv "$work/venv" >&2
	"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 3 --timeout 20 --only-binary :all: "ray[default]==$version" \
		>"$work/log" 2>&1 || lacking "Ray $version cannot be installed here: $(tail -n 1 "$work/log")"
	# Its scripts name the Python by its path.
	sed -i "1s|.*|#!$PWD/$venv/bin/python|" "$work/venv/bin/ray"
	[ -e "$venv" ] || mv "$work/venv" "$venv"
fi
echo "$PWD/$venv/bin"
