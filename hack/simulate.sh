#!/usr/bin/env bash
# Runs the controllers in a closed loop from seeds: hack/simulate.sh SEEDS [FROM]. Without FROM it begins at a seed of its own.
# It prints seeds a minute, steps, faults by kind, and the coverage of the planners; a violation comes with the shortest history that shows it.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

seeds=${1:-2000}
from=${2:-$((RANDOM * 32768 * 32768 + RANDOM * 32768 + RANDOM))}
export GOGC=400 # a seed leaves little behind

planners=
for planner in jobplan serveplan cronplan podplan expiryplan; do planners=${planners:+$planners,}github.com/raygate/raygate/operator/internal/$planner; done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -n "${COVER:-}" ]; then
	go test -vet=off -count=1 -timeout 120m ./operator/simulation -run 'TestSimulate$' -v -seeds "$seeds" -from "$from" -coverpkg="$planners" -coverprofile="$dir/cover"
	go run ./operator/simulation/uncovered "$dir/cover"
else
	go test -vet=off -count=1 -timeout 120m ./operator/simulation -run 'TestSimulate$' -v -seeds "$seeds" -from "$from"
fi
