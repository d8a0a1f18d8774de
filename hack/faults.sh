#!/usr/bin/env bash
# Puts known faults back into the code, one at a time, and prints the seed of the simulation that finds each: hack/faults.sh [NAME...].
# Each is a patch in hack/faults. It fails when one is not found within SEEDS (2000) seeds, or when a patch no longer applies.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

seeds=${SEEDS:-2000}
export GOGC=400
dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/tree" >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
git worktree add --quiet --detach "$dir/tree" HEAD

if [ "$#" = 0 ]; then
	set -- $(cd hack/faults && ls ./*.patch | sed 's|^\./||; s|\.patch$||')
fi
missed=()
for name in "$@"; do
	git -C "$dir/tree" checkout --quiet --force .
	git -C "$dir/tree" apply "$PWD/hack/faults/$name.patch"
	(cd "$dir/tree" && go test -vet=off -c -o "$dir/simulate" ./operator/simulation)
	if "$dir/simulate" -test.run 'TestSimulate$' -test.v -seeds "$seeds" -from "${FROM:-1}" -violations 1 >"$dir/log" 2>&1; then
		echo "$name: not found within $seeds seeds"
		missed+=("$name")
	else
		printf '%s: %s: %s\n' "$name" "$(grep -m1 -oE 'seed [0-9]+, [a-z]+' "$dir/log")" "$(grep -m1 -A3 -E 'seed [0-9]+, ' "$dir/log" | sed -n '2p' | sed 's/^ *//')"
	fi
done
[ "${#missed[@]}" = 0 ]
