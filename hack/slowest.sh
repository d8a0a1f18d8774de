#!/usr/bin/env bash
# Prints the ten packages that took longest, with their seconds, from the output of `go test` in the files of a folder: hack/slowest.sh DIR.
set -euo pipefail
sed -nE 's/^(ok|FAIL)[[:space:]]+([^[:space:]]+)[[:space:]]+([0-9.]+)s.*/\3 \2/p' "$1"/*.log 2>/dev/null | sed 's|github.com/raygate/raygate/||' | sort -rn |
	awk 'NR <= 10 {printf "%6.0f  %s\n", $1, $2}' # not head, whose early end can end sort by a signal
