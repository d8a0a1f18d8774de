#!/usr/bin/env bash
# Prints the path of a Python that has what a file pins (hack/python.sh [FILE]; clients/python/requirements.txt), in a virtual environment of its own below bin/python.
# Where that cannot be had (no Python, no network) it says why in one line and ends with status 3; with REQUIRED=1, as in continuous integration,
# with status 1, which is a failure to whoever would do without.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=${1:-clients/python/requirements.txt}
lacking() { echo "python: $1" >&2; exit $((${REQUIRED:-0} == 1 ? 1 : 3)); }

python=
for candidate in "${PYTHON:-}" python3 python; do
	[ -n "$candidate" ] || continue
	if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || lacking "there is no Python 3.10 or later with venv here"

# The key is what the environment is made of, so that each change of it makes another one.
key=$({ "$python" -c 'import sys; print(sys.version, sys.executable)'; cat "$requirements"; } | cksum | cut -d' ' -f1)
venv=bin/python/$key
if [ ! -e "$venv" ]; then
	mkdir -p bin/python
	work=$(mktemp -d bin/python/new.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	"$python" -m venv "$work/venv" >&2
	if ! "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 3 --timeout 10 \
		--require-hashes --only-binary :all: -r "$requirements" >"$work/log" 2>&1; then
		lacking "the packages of $requirements cannot be installed here: $(tail -n 1 "$work/log")"
	fi
	[ -e "$venv" ] || mv "$work/venv" "$venv" # another run may have been faster
fi
echo "$PWD/$venv/bin/python"
