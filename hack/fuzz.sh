#!/usr/bin/env bash
# Runs every fuzz target of the main module and of the libraries for FUZZTIME each; stops at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Minimising large objects would take the time that is meant for finding.
fuzz() { (cd "$1" && go test -run '^$' -fuzzminimizetime 10x -fuzz "^$2\$" -fuzztime "${FUZZTIME:-60s}" .) 2>&1 | tee "$log"; }

# out_of_time: the engine reports the end of its own time as a failure now and then, when that comes between two inputs. It saves no
# input then, unlike for a finding.
out_of_time() { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; }

grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | grep -v '^./localcluster/' | sort | while read -r file; do
	package=$(dirname "$file")
	grep -ohE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //' | while read -r target; do
		echo "fuzz: $package $target (${FUZZTIME:-60s})"
		fuzz "$package" "$target" && continue
		out_of_time || exit 1
		echo "fuzz: no finding, the engine ran over its time; once more"
		fuzz "$package" "$target"
	done
done
