#!/usr/bin/env bash
# Remembers what has passed on this machine, so that continuous integration repeats what is long only when something that it is about has changed:
#
#	hack/passed.sh check NAME PATH...    succeeds when NAME passed with these files as they are committed, and none of them is changed now
#	hack/passed.sh record NAME PATH...   notes that it did
set -euo pipefail
cd "$(dirname "$0")/.."

action=$1 name=$2
shift 2
notes=${XDG_CACHE_HOME:-$HOME/.cache}/raygate/passed
if [ -n "$(git status --porcelain -- "$@")" ]; then exit 1; fi
key=$({ go version && git ls-files -s -- "$@"; } | git hash-object --stdin)
case $action in
check) grep -qx "$key" "$notes/$name" 2>/dev/null ;;
record) mkdir -p "$notes" && echo "$key" >"$notes/$name" ;;
esac
