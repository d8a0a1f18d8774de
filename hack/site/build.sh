#!/usr/bin/env bash
# Makes the documentation as a site in a folder: hack/site/build.sh DIR. Fails on a link that leads nowhere and on a page that is not in the navigation.
# With --check it only looks, and succeeds with a line where Python or PyPI are lacking.
set -euo pipefail
cd "$(dirname "$0")/../.."

into=$1
if ! python=$(hack/python.sh hack/site/requirements.txt); then
	[ "$into" = --check ] || exit 1
	echo "verify: the links of the documentation are NOT checked, for the reason above" >&2
	exit 0
fi
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
if [ "$into" = --check ]; then into=$log/site; fi
if ! NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --site-dir "$(realpath -m "$into")" >"$log/out" 2>&1; then
	grep -E '^(WARNING|ERROR|Aborted)' "$log/out" >&2 || cat "$log/out" >&2
	exit 1
fi
