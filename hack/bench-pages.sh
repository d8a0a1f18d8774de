#!/usr/bin/env bash
# Prints what open pages of the console cost the gateway (docs/benchmarks.md). It needs Chromium and the programs of `make build`.
# Arguments go to the program: hack/bench-pages.sh -pages 100 -tabs 10.
set -euo pipefail
cd "$(dirname "$0")/../test/console"

# Built, not `go run`: that one would answer signals in place of the program.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/pages" ./pages
"$work/pages" "$@"
