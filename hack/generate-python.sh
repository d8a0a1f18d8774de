#!/usr/bin/env bash
# Writes the Python stubs in clients/python/src/raygate/v2, the types of manifests of the CRDs, and the blocking client in _sync of the asynchronous one. With --check it writes nothing, and fails when they are not what it would write.
# With --manifests it writes the types of manifests alone, for hack/generate.sh. All need Python and, the first time, PyPI (see hack/python.sh). Without them --check and --manifests say so in one line and succeed.
set -euo pipefail
cd "$(dirname "$0")/.."

into=clients/python/src
if ! python=$(hack/python.sh); then
	[ -n "${1:-}" ] || exit 1
	echo "generate-python: the Python client is NOT compared with the protos and CRDs, for the reason above" >&2
	exit 0
fi
manifests() { "$python" clients/python/make_manifests.py operator/config/crd/bases "$1/raygate/manifests.py"; }
if [ "${1:-}" = --manifests ]; then
	manifests "$into"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The protos of google/api and google/rpc come with googleapis-common-protos.
cd proto
protoc() { "$python" -m grpc_tools.protoc -I . -I ../third_party/googleapis "$@"; }
protoc --python_out="$work" --pyi_out="$work" raygate/v2/*.proto
protoc --grpc_python_out="$work" raygate/v2/*_service.proto
cd ..
cat >"$work/raygate/v2/__init__.py" <<'PY'
"""Messages and stubs of the package raygate.v2; see docs/reference.md."""
PY

manifests "$work"

if [ "${1:-}" = --check ]; then
	"$python" clients/python/make_sync.py "$work/raygate/_sync"
	cp "$into"/raygate/_sync/{__init__,io}.py "$work/raygate/_sync" # written by hand
	for part in v2 manifests.py _sync; do
		diff -rq -x __pycache__ "$work/raygate/$part" "$into/raygate/$part" || {
			echo "verify: clients/python/src/raygate/$part is not what 'make generate-python' writes" >&2
			exit 1
		}
	done
	echo "mypy clients/python"
	(cd clients/python && "$python" -m mypy --cache-dir ../../bin/python/mypy --no-error-summary)
	exit 0
fi
rm -rf "$into/raygate/v2"
mkdir -p "$into/raygate"
cp -r "$work/raygate/v2" "$work/raygate/manifests.py" "$into/raygate"
"$python" clients/python/make_sync.py "$PWD/$into/raygate/_sync"
