#!/usr/bin/env bash
# Builds the wheel and the sdist of the Python client, checks their metadata with twine, and installs the wheel with all extras into a new environment of each supported
# Python that is here, where it must import. It prints which versions it skipped, and needs PyPI: without that it says so in one line and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! python=$(hack/python.sh clients/python/packaging/requirements.txt); then
	[ "${REQUIRED:-0}" != 1 ] || exit 1
	echo "test-python-package: the package of the Python client is NOT checked, for the reason above" >&2
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r clients/python "$work/source" # setuptools writes beside it
"$python" -m build --no-isolation --outdir "$work/dist" "$work/source" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$python" -m twine check --strict "$work"/dist/*

found() { # VERSION
	local candidate
	for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
		if "$candidate" -c 'import sys, venv, ensurepip; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$1" >/dev/null 2>&1; then
			echo "$candidate"
			return
		fi
	done
}

# Those of the classifiers in pyproject.toml.
skipped=()
for version in $(sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' clients/python/pyproject.toml); do
	interpreter=$(found "$version")
	if [ -z "$interpreter" ]; then
		skipped+=("$version")
		continue
	fi
	"$interpreter" -m venv "$work/$version"
	"$work/$version/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$(ls "$work"/dist/*.whl)[keyring,session]"
	"$work/$version/bin/python" -m pip --disable-pip-version-check check >/dev/null
	"$work/$version/bin/python" -W error -c 'import raygate, raygate.sessions; assert raygate.ClusterSpec().to_dict()'
	echo "test-python-package: the wheel works with Python $version"
	rm -rf "${work:?}/$version"
done
[ "${#skipped[@]}" = 0 ] || echo "test-python-package: SKIPPED, as they are not here: Python ${skipped[*]}"
