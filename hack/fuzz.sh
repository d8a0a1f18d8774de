#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME each; stops at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | grep -v '^./localcluster/' | sort | while read -r file; do
	package=$(dirname "$file")
	grep -ohE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //' | while read -r target; do
		echo "fuzz: $package $target (${FUZZTIME:-60s})"
		# Minimising large objects would take the time that is meant for finding.
		go test -run '^$' -fuzzminimizetime 10x -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" "$package"
	done
done
