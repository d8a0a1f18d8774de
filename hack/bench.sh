#!/usr/bin/env bash
# Prints the figures of docs/benchmarks.md, then runs the micro-benchmarks of the Go packages.
# Arguments go to the benchmark program: hack/bench.sh --scenario gateway -o json. See --help.
# MICRO=0 leaves out the micro-benchmarks, BENCHTIME sets how long each of them runs.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

# Built, not `go run`: that one would answer signals in place of the program.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go -C test/bench build -o "$work/bench" .
"$work/bench" "$@"

if [ "${MICRO:-1}" != 0 ]; then
	echo
	# Only packages that have benchmarks, so that no line says that there is nothing to do. Some are modules of their own.
	grep -rlE '^func Benchmark[A-Z]' --include='*_test.go' clients pkg operator apiserver | xargs -r -n1 dirname | sort -u | while read -r package; do
		go -C "$package" test -run '^$' -bench . -benchmem -benchtime "${BENCHTIME:-300ms}" .
	done
fi
